//! vhost threads near the NIC and apart from vCPUs and interrupts (T03).

use std::collections::BTreeSet;

use nicety_model::cpu_list::{format_cpu_list, name_cpus};
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
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
    for vm in &case.facts.vms {
        let Some(net) = case.nic_of(vm) else { continue };
        let local = case.local_cpus(net);
        let irqs: BTreeSet<u32> = case
            .queue_irqs(net)
            .iter()
            .flat_map(|irq| irq.effective.iter().copied())
            .collect();
        for thread in &vm.vhost {
            let far = case.has_nodes() && !thread.cpus.iter().all(|cpu| local.contains(cpu));
            let shared = match thread.cpus.as_slice() {
                [cpu] => pinned.contains(cpu) || irqs.contains(cpu),
                _ => false,
            };
            if !far && !shared {
                continue;
            }
            // CPUs that rules before this one give to vCPUs are taken too.
            let planned: BTreeSet<String> = report
                .so_far()
                .iter()
                .flat_map(|finding| &finding.changes)
                .map(|change| change.to.clone())
                .collect();
            let free = vm_cpus(case, net).into_iter().find(|cpu| {
                !pinned.contains(cpu) && !given.contains(cpu) && !planned.contains(&cpu.to_string())
            });
            let is = format!(
                "{} may run on {}{}",
                thread.name,
                name_cpus(&thread.cpus),
                if far {
                    format!(", not only near {}", net.name())
                } else {
                    ", shared with a vCPU or interrupts".to_owned()
                }
            );
            let should = match free {
                Some(cpu) => format!("on CPU {cpu}, alone"),
                None => "on a CPU of its own near the NIC, but none is free".to_owned(),
            };
            let finding = report.find(&vm.name, is, should, &APART);
            if let Some(cpu) = free {
                given.insert(cpu);
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
        }
    }
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
    }
}
