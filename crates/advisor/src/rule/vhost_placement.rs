//! vhost threads near the NIC and apart from vCPUs and interrupts (T03).

use std::collections::BTreeSet;

use nicety_model::cpu_list::{format_cpu_list, name_cpus};
use nicety_model::facts::VmThread;
use nicety_model::finding::{Certainty, Finding, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::home::{Home, Unplaced};
use crate::place::vm_cpus;
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T03",
    name: "vhost-placement",
    checks: "vhost threads have CPUs of their own near the NIC",
    fires: "Fires when a vhost thread may leave the NIC's node, or shares a CPU with a vCPU or \
            interrupts.",
    writes: Some("CPUs of the vhost thread: a free core of the NIC's node"),
    gain: Gain::Medium,
    reasons: &[APART],
    check,
};

const APART: Reason = Reason {
    why: "A vhost thread copies every frame between guest and host. On a CPU with vCPUs or \
          interrupts they wait for each other.",
    source: "Red Hat Virtualization Tuning and Optimization Guide, emulatorpin and vhost-net; \
             Linux kernel/vhost_task.c",
    cost: "A new vhost thread (device reset, hot-plug) starts without a fixed CPU.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let mut given: BTreeSet<u32> = BTreeSet::new();
    let pinned: BTreeSet<u32> = case
        .facts
        .vms
        .iter()
        .flat_map(|vm| &vm.vcpus)
        .filter(|vcpu| vcpu.cpus.len() == 1)
        .map(|vcpu| vcpu.cpus[0])
        .collect();
    let mut unplaced = Unplaced::default();
    for vm in case.facts.vms.iter().filter(|vm| !vm.vhost.is_empty()) {
        let home = case.home_of(vm);
        let home = home.map_err(|why| unplaced.add(vm, why)).ok();
        for thread in &vm.vhost {
            let Some(problem) = problem(case, thread, home.as_ref(), &pinned) else {
                continue;
            };
            let taken = |cpu: &u32| pinned.contains(cpu) || given.contains(cpu);
            let free = home
                .as_ref()
                .and_then(|home| free(case, home, taken, report));
            let finding = report.find(
                &vm.name,
                format!(
                    "{} may run on {}, {problem}",
                    thread.name,
                    name_cpus(&thread.cpus)
                ),
                match (free, &home) {
                    (Some(cpu), _) => format!("on CPU {cpu}, alone"),
                    (None, Some(_)) => {
                        "on a CPU of its own near the NIC, but none is free".to_owned()
                    }
                    (None, None) => "on a CPU of its own".to_owned(),
                },
                &APART,
            );
            if let Some(cpu) = free {
                given.insert(cpu);
                pin(finding, thread, cpu);
            }
        }
    }
    unplaced.say(report);
}

/// Where a thread should not run, in words.
fn problem(
    case: &Case<'_>,
    thread: &VmThread,
    home: Option<&Home<'_>>,
    pinned: &BTreeSet<u32>,
) -> Option<String> {
    if let Some(home) = home.filter(|_| case.has_nodes()) {
        let local = case.cpus_near(home);
        if !thread.cpus.iter().all(|cpu| local.contains(cpu)) {
            return Some(format!("not only near {}", home.name()));
        }
    }
    let [cpu] = thread.cpus.as_slice() else {
        return None;
    };
    let nics = home.into_iter().flat_map(|home| &home.nics);
    let mut irqs = nics.flat_map(|net| case.queue_irqs(net));
    let shared = pinned.contains(cpu) || irqs.any(|irq| irq.effective.contains(cpu));
    shared.then(|| "shared with a vCPU or interrupts".to_owned())
}

/// A CPU near the NIC that nothing takes, nor is given by rules before this one.
fn free<'a>(
    case: &Case<'a>,
    home: &Home<'a>,
    taken: impl Fn(&u32) -> bool,
    report: &Report,
) -> Option<u32> {
    let planned: BTreeSet<&str> = report.changes().map(|change| change.to.as_str()).collect();
    let mut cpus = vm_cpus(case, home).into_iter();
    cpus.find(|cpu| !taken(cpu) && !planned.contains(cpu.to_string().as_str()))
}

fn pin(finding: &mut Finding, thread: &VmThread, cpu: u32) {
    let knob = Knob::ThreadCpus {
        tid: thread.tid,
        name: thread.name.clone(),
    };
    finding
        .changes
        .push(change(knob, format_cpu_list(&thread.cpus), cpu));
    finding
        .advice
        .push("Keep it under libvirt: set <emulatorpin>.".to_owned());
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Host, thread};

    #[test]
    fn a_vhost_thread_leaves_its_vcpu() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0).vm("a", &[&[2]]);
        let on = |cpus: &'static [u32]| {
            host.clone()
                .facts_with(move |f| f.vms[0].vhost = vec![thread(99, "vhost-1", cpus)])
        };
        let finding = on(&[2]).one("vhost-placement");
        assert_eq!(
            (
                finding.changes[0].from.as_str(),
                finding.changes[0].to.as_str()
            ),
            ("2", "1")
        );
        on(&[3]).none("vhost-placement");
        on(&[0, 1, 2, 3]).none("vhost-placement");
    }

    #[test]
    fn a_vhost_thread_comes_to_the_nics_node() {
        let host = Host::new(2, 4).nic("eth0", 10_000, 1).vm("a", &[&[5]]);
        let host = host.facts_with(|f| f.vms[0].vhost = vec![thread(99, "vhost-1", &[0, 1, 2])]);
        assert_eq!(host.one("vhost-placement").changes[0].to, "4");
        // Which of two nodes is not known; a shared CPU is one on any.
        let host = host.nic("eth1", 25_000, 0);
        host.none("vhost-placement");
        assert!(
            host.waits("vhost-placement")
                .contains("the NIC of a is not known")
        );
        let shared = host.facts_with(|f| f.vms[0].vhost[0].cpus = vec![5]);
        let finding = shared.one("vhost-placement");
        assert_eq!(finding.should, "on a CPU of its own");
        assert!(finding.changes.is_empty());
    }
}
