//! Queues of a virtio NIC (T28).

use std::collections::BTreeSet;

use nicety_model::facts::{VmFacts, VmNic};
use nicety_model::finding::{Certainty, Effect, Finding, Gain, Goal, Risk};

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T28",
    name: "multiqueue",
    checks: "A virtio NIC has queues for its vCPUs",
    fires: "Fires when a guest NIC has one queue for several vCPUs, more queues than vCPUs, or \
            queues that its device does not offer. Not for latency.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[QUEUES, NOT_OFFERED, SHARED],
    check,
};

const QUEUES: Reason = Reason {
    why: "One queue means one vhost thread and one vCPU for all frames of the guest.",
    source: "Linux drivers/net/virtio_net.c; github.com/virtio-win/kvm-guest-drivers-windows \
             issue 237: a Linux guest gained (15 to 25 Gbit/s), a Windows guest lost (4.3 to 2.3)",
    cost: "The guest restarts. The host runs more vhost threads.",
    risk: Risk::Medium,
    certainty: Certainty::Guess,
};

const NOT_OFFERED: Reason = Reason {
    why: "The back end opens several queues, but a virtio device offers one unless mq is on.",
    source: "QEMU hw/net/virtio-net.c, virtio_net_set_multiqueue and the property mq",
    cost: "The guest restarts. The host runs more vhost threads.",
    risk: Risk::Medium,
    certainty: Certainty::Certain,
};

const SHARED: Reason = Reason {
    why: "With too few interrupts the guest's driver gives all queues one, and one vCPU serves them.",
    source: "Linux drivers/virtio/virtio_pci_common.c, vp_find_vqs",
    cost: "The guest restarts.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// A vhost thread with less than this of its CPU has time for more frames.
const FULL: f64 = 0.9;
/// More queues than this have not been seen to help.
const MOST: usize = 8;

fn check(case: &Case<'_>, report: &mut Report) {
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
        let formula = format!("min({} vCPUs, {MOST}, {free} free CPUs)", vm.vcpus.len());
        for nic in &vm.nics {
            unused(vm, nic, report);
        }
        let offered = vm.nics.iter().filter(|nic| nic.mq != Some(false));
        let too_many = offered.filter_map(|nic| nic.queues);
        for queues in too_many.filter(|queues| *queues as usize > vm.vcpus.len().max(1)) {
            let finding = report.find(
                &vm.name,
                format!("{queues} queues for {} vCPUs", vm.vcpus.len()),
                format!("{wanted} queues"),
                &QUEUES,
            );
            finding.why = "A guest sets up at most one queue per vCPU. The host wastes memory and \
                           vhost threads on the rest."
                .to_owned();
            finding.formula = Some(formula.clone());
            set(finding, wanted);
        }
        let single = vm.nics.iter().filter(|nic| {
            let virtio = nic.is_virtio() == Some(true);
            nic.vhost == Some(true) && virtio && nic.queues.unwrap_or(1) == 1
        });
        let Some(full) = vhost_full(case, vm) else {
            // One thread does all the work, and has time left.
            continue;
        };
        for _ in single.filter(|_| wanted > 1) {
            let finding = report.find(
                &vm.name,
                format!("1 queue for {} vCPUs{full}", vm.vcpus.len()),
                format!("{wanted} queues, if a measurement shows a gain"),
                &QUEUES,
            );
            finding.formula = Some(format!("{formula}; vectors 2 × {wanted} + 2"));
            set(finding, wanted);
        }
    }
}

/// Queues that the device does not offer, or has no interrupts for.
fn unused(vm: &VmFacts, nic: &VmNic, report: &mut Report) {
    let Some(queues) = nic.queues.filter(|queues| *queues > 1) else {
        return;
    };
    let enough = 2 * queues + 2;
    // One for each queue of either side, one for news of the device.
    let few = nic.vectors.filter(|vectors| *vectors < 2 * queues + 1);
    let (is, reason) = match (nic.mq, few) {
        (Some(false), _) => (
            format!("queues={queues}, but the device has no mq=on: the guest gets one queue"),
            &NOT_OFFERED,
        ),
        (Some(true), Some(vectors)) => (
            format!("vectors={vectors} for {queues} queues: they share interrupts"),
            &SHARED,
        ),
        _ => return,
    };
    let finding = report.find(&vm.name, is, format!("mq=on,vectors={enough}"), reason);
    finding.formula = Some(format!("vectors 2 × {queues} + 2 = {enough}"));
    finding.effect = Effect::VmRestart;
    finding.advice.push(format!(
        "Set -device virtio-net-pci,mq=on,vectors={enough}, or <driver name='vhost' queues='{queues}'/>."
    ));
}

/// How the queues are set.
fn set(finding: &mut Finding, queues: usize) {
    finding.effect = Effect::VmRestart;
    finding
        .advice
        .push(format!("<driver name='vhost' queues='{queues}'/>"));
}

/// In words, how full the busiest vhost thread of a guest was while somebody looked on; none when it
/// was not. Where nobody did, nothing is known and nothing is said.
fn vhost_full(case: &Case<'_>, vm: &VmFacts) -> Option<String> {
    let Some(window) = &case.facts.window else {
        return Some(String::new());
    };
    let shares = vm.vhost.iter();
    let shares = shares.filter_map(|thread| window.vhost_busy.get(&thread.tid));
    match shares.copied().reduce(f64::max) {
        None => Some(String::new()),
        Some(share) if share > FULL => Some(format!(
            ", its vhost thread {:.0} % busy {}",
            100.0 * share,
            in_seconds(window)
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::VmNic;

    use crate::fixture::{Host, thread};

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

    #[test]
    fn queues_without_mq_or_interrupts_are_no_use() {
        let host = |queues, mq, vectors| {
            let nic = VmNic {
                backend: "tap".to_owned(),
                vhost: Some(true),
                model: Some("virtio-net-pci".to_owned()),
                queues,
                mq: Some(mq),
                vectors,
                ..VmNic::default()
            };
            Host::new(1, 8)
                .vm("a", &[&[1], &[2], &[3], &[4]])
                .facts_with(|f| f.vms[0].nics = vec![nic])
        };
        let finding = host(Some(4), false, None).one("multiqueue");
        assert_eq!(
            finding.is,
            "queues=4, but the device has no mq=on: the guest gets one queue"
        );
        assert_eq!(finding.should, "mq=on,vectors=10");
        // More than there are vCPUs is said only of queues that are offered.
        assert!(
            host(Some(8), false, None)
                .one("multiqueue")
                .is
                .contains("no mq=on")
        );
        host(Some(4), true, None).none("multiqueue");
        host(Some(4), true, Some(9)).none("multiqueue");
        let few = host(Some(4), true, Some(3)).one("multiqueue");
        assert!(few.is.starts_with("vectors=3 for 4 queues"), "{}", few.is);
    }

    #[test]
    fn a_thread_with_time_left_needs_no_second_queue() {
        let watched = |share| {
            let nic = VmNic {
                backend: "tap".to_owned(),
                vhost: Some(true),
                model: Some("virtio-net-pci".to_owned()),
                ..VmNic::default()
            };
            Host::new(1, 8)
                .vm("a", &[&[1], &[2]])
                .facts_with(|f| {
                    f.vms[0].nics = vec![nic];
                    f.vms[0].vhost = vec![thread(500, "vhost-4711", &[3])];
                })
                .window(5.0, |window| window.vhost_busy = [(500, share)].into())
        };
        let finding = watched(0.97).one("multiqueue");
        assert!(finding.is.ends_with("97 % busy in 5 s"), "{}", finding.is);
        watched(0.4).none("multiqueue");
    }
}
