//! vCPUs and memory of guests near the NIC (T02).

use std::collections::BTreeMap;

use nicety_model::cpu_list::{format_cpu_list, name_cpus};
use nicety_model::facts::{VmFacts, VmKind};
use nicety_model::finding::{Certainty, Effect, Gain, Risk};
use nicety_model::knob::Knob;
use nicety_model::total;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::home::{Home, Unplaced};
use crate::place::vm_cpus;
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T02",
    name: "vcpu-placement",
    checks: "vCPUs and memory of guests are on the NIC's node",
    fires: "Fires when vCPUs, or over a tenth of a guest's memory, are off the node of its NIC.",
    writes: Some("CPUs of each vCPU thread: one core of the NIC's node each"),
    gain: Gain::Large,
    reasons: &[NEAR],
    check,
};

const NEAR: Reason = Reason {
    why: "Frames are copied between guest and NIC. On another node every access crosses the \
          interconnect.",
    source: "Oracle VM 3 10GbE network performance tuning (2013), process affinity; Red Hat \
             Virtualization Tuning and Optimization Guide, NUMA",
    cost: "The guest no longer uses CPUs of other nodes. Do it for guests whose network matters \
           most.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let far = case.has_nodes()
        || case
            .facts
            .xen
            .as_ref()
            .is_some_and(|xen| xen.nodes > Some(1));
    if !far {
        return;
    }
    let mut used: BTreeMap<u32, usize> = BTreeMap::new();
    let mut unplaced = Unplaced::default();
    for vm in &case.facts.vms {
        match (vm.kind, case.home_of(vm)) {
            (VmKind::Xen, _) => xen(case, vm, report),
            (VmKind::Qemu, Err(why)) => unplaced.add(vm, why),
            (VmKind::Qemu, Ok(home)) => {
                let Some(node) = home.node else { continue };
                let used = used.entry(node).or_default();
                memory(vm, node, &home, report);
                *used += vcpus(case, vm, node, &home, *used, report);
            }
        }
    }
    unplaced.say(report);
}

/// Any CPU of the socket, so that the scheduler may still choose.
fn xen(case: &Case<'_>, vm: &VmFacts, report: &mut Report) {
    let local = case.first_domain_cpus();
    let near = |cpus: &[u32]| !cpus.is_empty() && cpus.iter().all(|cpu| local.contains(cpu));
    if vm.vcpus.is_empty() || local.is_empty() || vm.vcpus.iter().all(|vcpu| near(&vcpu.cpus)) {
        return;
    }
    let wanted = format_cpu_list(&local);
    let finding = report.find(
        &vm.name,
        format!("{} vCPUs may run on any socket", vm.vcpus.len()),
        format!("on CPUs {wanted}, the socket of the first domain"),
        &NEAR,
    );
    finding
        .advice
        .push(format!("xl vcpu-pin {} all {wanted}", vm.name));
    finding.advice.push(format!(
        "Keep it with cpus = \"{wanted}\" in the domain's configuration."
    ));
}

/// Each vCPU on a core of its own; returns how many CPUs it takes.
fn vcpus<'a>(
    case: &Case<'a>,
    vm: &VmFacts,
    node: u32,
    home: &Home<'a>,
    used: usize,
    report: &mut Report,
) -> usize {
    let local = case.cpus_near(home);
    let near = |cpus: &[u32]| !cpus.is_empty() && cpus.iter().all(|cpu| local.contains(cpu));
    let mut vcpus = vm.vcpus.iter().enumerate();
    let Some((number, far)) = vcpus.find(|(_, vcpu)| !near(&vcpu.cpus)) else {
        return 0;
    };
    let free: Vec<u32> = vm_cpus(case, home).into_iter().skip(used).collect();
    let fits = free.len() >= vm.vcpus.len();
    let assigned = if fits { vm.vcpus.len() } else { 0 };
    let (should, target) = if fits {
        let own = format_cpu_list(&free[..vm.vcpus.len()]);
        (format!("each on its own CPU of node {node}: {own}"), own)
    } else {
        (
            format!(
                "on node {node}, but only {} CPUs are free there",
                free.len()
            ),
            format_cpu_list(&local),
        )
    };
    let is = format!(
        "vCPU {number} may run on {}, {}",
        name_cpus(&far.cpus),
        home.place()
    );
    let finding = report.find(&vm.name, is, should, &NEAR);
    if fits {
        finding.changes = vm
            .vcpus
            .iter()
            .zip(&free)
            .map(|(vcpu, cpu)| {
                let knob = Knob::ThreadCpus {
                    tid: vcpu.tid,
                    name: vcpu.name.clone(),
                };
                change(knob, format_cpu_list(&vcpu.cpus), cpu)
            })
            .collect();
        finding.advice.push(format!(
            "Keep it under libvirt: set <vcpupin> of {} to {target}.",
            vm.name
        ));
    } else {
        finding.advice.push(format!(
            "Give the guest fewer vCPUs, or move another guest off node {node}."
        ));
    }
    assigned
}

/// More than a tenth of the memory elsewhere counts.
fn memory(vm: &VmFacts, node: u32, home: &Home<'_>, report: &mut Report) {
    let total = total(vm.memory_mib.values());
    let here = vm.memory_mib.get(&node).copied().unwrap_or(0);
    let far = total - here;
    if total == 0 || far * 10 <= total {
        return;
    }
    let finding = report.find(
        &vm.name,
        format!("{far} of {total} MiB lie off node {node}; {}", home.place()),
        format!("all on node {node}"),
        &NEAR,
    );
    finding.effect = Effect::VmRestart;
    finding.advice.push(format!(
        "virsh numatune {} --mode strict --nodeset {node}",
        vm.name
    ));
    if let Some(pid) = vm.pid {
        finding
            .advice
            .push(format!("Or move it now: migratepages {pid} all {node}"));
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn vcpus_come_to_the_nics_node_and_leave_interrupts_alone() {
        // Node 1 has CPUs 4-7; the one queue's interrupt takes CPU 4.
        let host = Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .irq(30, "eth0", &[0], 9)
            .vm("a", &[&[0, 1], &[0, 1]]);
        let finding = host.one("vcpu-placement");
        let to: Vec<&str> = finding.changes.iter().map(|c| c.to.as_str()).collect();
        assert_eq!(to, ["5", "6"]);
        assert_eq!(finding.changes[0].from, "0-1");
        host.facts_with(|facts| facts.cpu.nodes.truncate(1))
            .none("vcpu-placement");
        Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .vm("a", &[&[5], &[6, 7]])
            .none("vcpu-placement");
    }

    #[test]
    fn the_vcpu_that_is_far_is_named() {
        let host = Host::new(2, 4).nic("eth0", 10_000, 1);
        let finding = host.vm("a", &[&[5], &[6], &[2]]).one("vcpu-placement");
        assert_eq!(finding.is, "vCPU 2 may run on CPU 2, eth0 is on node 1");
    }

    #[test]
    fn a_guest_that_does_not_fit_is_not_moved() {
        let host = Host::new(2, 2)
            .nic("eth0", 10_000, 1)
            .vm("a", &[&[0], &[0], &[1]]);
        let finding = host.one("vcpu-placement");
        assert!(
            finding.changes.is_empty() && finding.should.contains("only 2"),
            "{finding:?}"
        );
    }

    #[test]
    fn a_second_guest_gets_other_cpus() {
        let host = Host::new(2, 8)
            .nic("eth0", 10_000, 1)
            .vm("a", &[&[0], &[0]])
            .vm("b", &[&[0]]);
        let findings = host.find("vcpu-placement");
        assert_eq!(findings[0].changes[1].to, "9");
        assert_eq!(findings[1].changes[0].to, "10");
    }

    #[test]
    fn far_memory_is_found() {
        let host = Host::new(2, 4).nic("eth0", 10_000, 1).vm("a", &[&[5]]);
        let far = host
            .clone()
            .facts_with(|f| f.vms[0].memory_mib = [(0, 200), (1, 800)].into());
        assert!(far.one("vcpu-placement").is.starts_with("200 of 1000 MiB"));
        let near = host.facts_with(|f| f.vms[0].memory_mib = [(0, 100), (1, 900)].into());
        near.none("vcpu-placement");
    }

    #[test]
    fn a_guest_whose_nic_is_not_known_is_left_alone() {
        let one = Host::new(2, 4).nic("eth0", 10_000, 0);
        let guest = |host: Host| {
            host.vm("a", &[&[0]])
                .vm("b", &[&[4]])
                .facts_with(|facts| facts.vms[0].memory_mib = [(0, 900)].into())
        };
        let two = guest(one.clone().nic("eth1", 25_000, 1));
        two.none("vcpu-placement");
        let words =
            "The node of the NIC of a and of another guest is not known: no NIC of it is known.";
        assert_eq!(two.waits("vcpu-placement"), words);
        // All NICs on one node leave no doubt.
        let near = guest(one.nic("eth1", 25_000, 0));
        let finding = near.one("vcpu-placement");
        assert_eq!(
            finding.is,
            "vCPU 0 may run on CPU 4, eth0 and eth1 are on node 0"
        );
        assert_eq!(near.waits("vcpu-placement"), "");
    }
}
