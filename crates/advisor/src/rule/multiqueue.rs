//! Queues of a virtio NIC (T28).

use std::collections::BTreeSet;

use nicety_model::finding::{Certainty, Effect, Goal, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};

const QUEUES: Reason = Reason {
    why: "One queue is one vhost thread and one vCPU for all frames of the guest.",
    source: "Linux drivers/net/virtio_net.c; github.com/virtio-win/kvm-guest-drivers-windows issue \
             237: a Linux guest gained (15 to 25 Gbit/s), a Windows guest lost (4.3 to 2.3)",
    cost: "The guest restarts; more vhost threads on the host.",
    risk: Risk::Medium,
    certainty: Certainty::Guess,
};

/// More queues than this have not been seen to help.
const MOST: usize = 8;

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal == Goal::Latency {
        return;
    }
    // Each queue is a vhost thread, which needs a CPU that no vCPU is pinned to.
    let busy = case.facts.vms.iter().flat_map(|vm| &vm.vcpus);
    let pinned: BTreeSet<u32> = busy
        .filter(|vcpu| vcpu.cpus.len() == 1)
        .flat_map(|vcpu| vcpu.cpus.iter().copied())
        .collect();
    let free = case.facts.cpu.cpus.len().saturating_sub(pinned.len());
    for vm in &case.facts.vms {
        let wanted = vm.vcpus.len().min(MOST).min(free.max(1));
        let too_many = vm.nics.iter().filter_map(|nic| nic.queues);
        for queues in too_many.filter(|queues| *queues as usize > vm.vcpus.len().max(1)) {
            let finding = report.find(
                &vm.name,
                format!("{queues} queues for {} vCPUs", vm.vcpus.len()),
                format!("{wanted} queues"),
                &QUEUES,
            );
            finding.why =
                "A guest has no vCPU for queues beyond their number, and sets them not up: \
                           the host keeps their memory and vhost threads for nothing."
                    .to_owned();
            finding.formula = Some(format!(
                "min({} vCPUs, {MOST}, {free} free CPUs)",
                vm.vcpus.len()
            ));
            finding.effect = Effect::VmRestart;
            finding
                .advice
                .push(format!("<driver name='vhost' queues='{wanted}'/>"));
        }
        let single = vm.nics.iter().filter(|nic| {
            let virtio = nic
                .model
                .as_deref()
                .is_some_and(|model| model.starts_with("virtio-net"));
            nic.vhost == Some(true) && virtio && nic.queues.unwrap_or(1) == 1
        });
        for _ in single.filter(|_| wanted > 1) {
            let finding = report.find(
                &vm.name,
                format!("1 queue for {} vCPUs", vm.vcpus.len()),
                format!("{wanted} queues, kept only if measured to be better"),
                &QUEUES,
            );
            finding.formula = Some(format!(
                "min({} vCPUs, {MOST}, {free} free CPUs); vectors 2 × {wanted} + 2",
                vm.vcpus.len()
            ));
            finding.effect = Effect::VmRestart;
            finding
                .advice
                .push(format!("<driver name='vhost' queues='{wanted}'/>"));
        }
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::VmNic;

    use crate::fixture::Host;

    #[test]
    fn queues_follow_the_vcpus() {
        let host = |vcpus: &[&[u32]], queues| {
            let nic = VmNic {
                backend: "tap".to_owned(),
                vhost: Some(true),
                queues,
                model: Some("virtio-net-pci".to_owned()),
                ..VmNic::default()
            };
            Host::new(1, 8)
                .vm("a", vcpus)
                .facts_with(|f| f.vms[0].nics = vec![nic])
        };
        assert!(host(&[&[1], &[2]], None).one("multiqueue").advice[0].contains("queues='2'"));
        host(&[&[1]], None).none("multiqueue");
        host(&[&[1], &[2]], Some(2)).none("multiqueue");
        let many = host(&[&[1], &[2]], Some(4)).one("multiqueue");
        assert!(many.is.starts_with("4 queues for 2") && many.advice[0].contains("queues='2'"));
        // 8 CPUs, 6 of them taken: no more than two vhost threads have one of their own.
        let six: [&[u32]; 6] = [&[0], &[1], &[2], &[3], &[4], &[5]];
        let full = host(&six, None).one("multiqueue");
        assert!(full.advice[0].contains("queues='2'"), "{:?}", full.advice);
        assert!(full.formula.unwrap_or_default().contains("2 free CPUs"));
        let all: Vec<[u32; 1]> = (0..8).map(|cpu| [cpu]).collect();
        let all: Vec<&[u32]> = all.iter().map(<[u32; 1]>::as_slice).collect();
        host(&all, None).none("multiqueue");
    }
}
