//! Queue interrupts near the NIC, one per core, off the first CPU and off what guests and isolation
//! need (T04).

use std::collections::BTreeSet;

use nicety_model::cpu_list::{format_cpu_list, name_cpus};
use nicety_model::facts::NetFacts;
use nicety_model::finding::{Certainty, Effect, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::irq_place::{Fault, Misplaced, misplaced, problem};
use crate::place::irq_cpus;
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T04",
    name: "irq-affinity",
    checks: "Queue interrupts run near the NIC, one per core, off CPUs of guests",
    fires: "Fires when queue interrupts run on another node, share a CPU, or land on a busy CPU 0. \
            Also on CPUs of pinned guests or isolated ones, where others are free.",
    writes: Some("smp_affinity_list of each misplaced queue interrupt: a core of the NIC's node"),
    gain: Gain::Large,
    reasons: &[SPREAD, APART],
    check,
};

const SPREAD: Reason = Reason {
    why: "The CPU that takes a queue's interrupt also receives its frames. On another node, or \
          shared with other queues, that CPU is the bottleneck.",
    source: "Linux Documentation/networking/scaling.rst; Oracle VM 3 10GbE network performance \
             tuning (2013), port interrupt affinity",
    cost: "Almost none: frames of a queue may be reordered once.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const APART: Reason = Reason {
    why: "The CPU that takes a queue's interrupt also receives its frames. A vCPU or an isolated \
          task on it stands still for that long.",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt (isolcpus, nohz_full); Red Hat \
             Virtualization Tuning and Optimization Guide, CPU pinning",
    cost: "Almost none: frames of a queue may be reordered once.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// With more queues on one CPU, leaving guests alone may cost more than it brings: a person decides.
const MOST_ON_ONE: usize = 2;

fn check(case: &Case<'_>, report: &mut Report) {
    let (moves, given) = moved_threads(report);
    for net in case.nics() {
        let misplaced = misplaced(case, net, &moves, &given);
        if misplaced.is_empty() {
            continue;
        }
        if misplaced.iter().any(|place| place.target.is_none()) {
            report.undecided(&no_room(case, net, &misplaced), None);
        } else {
            nic(case, net, &misplaced, report);
        }
    }
}

/// Threads that rules before this one move, and the CPUs they give them.
fn moved_threads(report: &Report) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let threads = report.changes().filter_map(|change| match change.knob {
        Knob::ThreadCpus { tid, .. } => Some((tid, change.to.parse::<u32>().ok()?)),
        _ => None,
    });
    threads.unzip()
}

/// What a person has to decide.
fn no_room(case: &Case<'_>, net: &NetFacts, misplaced: &[Misplaced<'_>]) -> String {
    format!(
        "IRQ {} of {} are {}. No CPU near it is free of guests and isolation: leave one to the host.",
        numbers(misplaced),
        net.name(),
        problem(case, misplaced)
    )
}

fn numbers(misplaced: &[Misplaced<'_>]) -> String {
    let numbers: Vec<u32> = misplaced.iter().map(|place| place.irq.irq).collect();
    format_cpu_list(&numbers)
}

fn nic(case: &Case<'_>, net: &NetFacts, misplaced: &[Misplaced<'_>], report: &mut Report) {
    let apart = |place: &Misplaced<'_>| matches!(place.fault, Fault::Guest(_) | Fault::Isolated);
    let reason = if misplaced.iter().all(apart) {
        &APART
    } else {
        &SPREAD
    };
    let finding = report.find(
        net.name(),
        format!(
            "IRQ {}: {}{}",
            numbers(misplaced),
            problem(case, misplaced),
            unknown_names(case, net)
        ),
        wanted(misplaced),
        reason,
    );
    if !case.knows_queue_irqs(net) {
        finding.certainty = Certainty::Guess;
    }
    if let Some(node) = case.node_of(net).filter(|_| case.has_nodes()) {
        finding.formula = Some(format!(
            "the least used core of node {node}, except CPU 0, isolated CPUs and CPUs of pinned vCPUs"
        ));
    }
    if misplaced
        .iter()
        .any(|place| place.irq.managed == Some(true))
    {
        finding.effect = Effect::Never;
        finding.advice.push(
            "The kernel places these interrupts itself. Change the number of channels, or boot with \
             isolcpus=managed_irq,…"
                .to_owned(),
        );
        return;
    }
    let (queues, free) = (case.queue_irqs(net).len(), irq_cpus(case, net).len());
    if misplaced.iter().any(apart) && queues > MOST_ON_ONE * free {
        finding.certainty = Certainty::Guess;
        finding.advice.push(format!(
            "Few CPUs near {name} are free: {free} for {queues} queues. First use as many channels as CPUs \
             (ethtool -L {name} combined {free}), or free more CPUs.",
            name = net.name()
        ));
        return;
    }
    for Misplaced { irq, target, .. } in misplaced {
        if let Some(cpu) = target.filter(|cpu| irq.affinity != [*cpu]) {
            let knob = Knob::IrqAffinity { irq: irq.irq };
            let from = format_cpu_list(&irq.affinity);
            finding.changes.push(change(knob, from, cpu));
        }
    }
}

/// `one each on CPUs 1-4`.
fn wanted(misplaced: &[Misplaced<'_>]) -> String {
    let cpus: BTreeSet<u32> = misplaced.iter().filter_map(|place| place.target).collect();
    let each = if cpus.len() == misplaced.len() {
        "one each on"
    } else {
        "spread over"
    };
    let cpus: Vec<u32> = cpus.into_iter().collect();
    format!("{each} {}", name_cpus(&cpus))
}

/// Where all interrupts are taken for queues'.
fn unknown_names(case: &Case<'_>, net: &NetFacts) -> String {
    if case.knows_queue_irqs(net) {
        return String::new();
    }
    format!(
        " (all {} count: nicety does not know what {} calls its queues)",
        case.queue_irqs(net).len(),
        net.link.driver.as_deref().unwrap_or("this driver")
    )
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Effect;

    use crate::fixture::Host;
    use nicety_model::facts::SoftnetFacts;

    fn host_cpus(net_rx: &[u64]) -> Vec<SoftnetFacts> {
        Host::new(1, 4).net_rx(net_rx).facts.softnet
    }

    fn targets(host: &Host) -> Vec<String> {
        let finding = host.one("irq-affinity");
        finding
            .changes
            .iter()
            .map(|change| format!("{}→{}", change.knob, change.to))
            .collect()
    }

    #[test]
    fn interrupts_far_away_come_near() {
        let host = Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .irq(30, "eth0", &[0], 5)
            .irq(31, "eth0", &[1], 5);
        assert_eq!(targets(&host), ["IRQ 30 CPUs→4", "IRQ 31 CPUs→5"]);
        Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .irq(30, "eth0", &[4], 5)
            .irq(31, "eth0", &[5], 5)
            .none("irq-affinity");
    }

    #[test]
    fn queues_share_no_cpu() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .irq(30, "eth0", &[2], 5)
            .irq(31, "eth0", &[2], 5);
        assert_eq!(
            targets(&host),
            ["IRQ 31 CPUs→1"],
            "the first is well placed already"
        );
    }

    #[test]
    fn the_first_cpu_is_relieved_when_it_is_crowded() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .irq(30, "eth0", &[0], 5);
        host.clone().net_rx(&[10, 90, 90, 90]).none("irq-affinity");
        let crowded = host.net_rx(&[60, 10, 10, 10]);
        assert_eq!(targets(&crowded), ["IRQ 30 CPUs→1"]);
        // What happens now counts for more than what happened since boot.
        crowded
            .window(5.0, |w| w.softnet = host_cpus(&[10, 90, 90, 90]))
            .none("irq-affinity");
    }

    #[test]
    fn pinned_and_isolated_cpus_are_left_alone() {
        let host = Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .irq(30, "eth0", &[0], 5)
            .vm("a", &[&[4]]);
        assert_eq!(
            targets(&host.facts_with(|f| f.cpu.isolated = vec![5])),
            ["IRQ 30 CPUs→6"]
        );
    }

    #[test]
    fn what_the_kernel_places_is_told_apart() {
        let host = Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .irq(30, "eth0", &[0], 5);
        let finding = host
            .facts_with(|f| f.irqs[0].managed = Some(true))
            .one("irq-affinity");
        assert!(finding.changes.is_empty() && finding.effect == Effect::Never);
    }

    #[test]
    fn two_cpus_are_too_few_to_choose() {
        Host::new(1, 2)
            .nic("eth0", 10_000, 0)
            .irq(30, "eth0", &[0], 5)
            .irq(31, "eth0", &[0], 5)
            .none("irq-affinity");
    }

    /// Queues of an mlx5 port with 16 CPUs, each on one of these.
    fn mlx5(nodes: u32, node: u32, cpus: &[u32]) -> Host {
        let host = Host::new(nodes, 16 / nodes).nic("eth0", 25_000, node);
        let host = host.nic_with(|net| net.link.driver = Some("mlx5_core".to_owned()));
        let queues = (51..).zip(cpus).zip(0..);
        queues.fold(host, |host, ((irq, cpu), queue)| {
            let name = format!("mlx5_comp{queue}@pci:0000:12:00.0");
            host.irq(irq, "eth0", &[*cpu], 9)
                .facts_with(|facts| facts.irqs.last_mut().unwrap().name = name)
        })
    }

    #[test]
    fn control_interrupts_may_be_anywhere() {
        let host = mlx5(2, 1, &[8, 9, 10, 11]).irq(50, "eth0", &[0], 9);
        let named = |name: &'static str| {
            host.clone()
                .facts_with(move |facts| facts.irqs.last_mut().unwrap().name = name.to_owned())
        };
        named("mlx5_async0@pci:0000:12:00.0").none("irq-affinity");
        named("eth0").none("irq-affinity");
        let queue = named("mlx5_comp9@pci:0000:12:00.0");
        assert_eq!(
            targets(&queue),
            ["IRQ 50 CPUs→12"],
            "the others keep theirs"
        );
    }

    #[test]
    fn without_names_all_count_and_the_finding_says_so() {
        let host = mlx5(2, 1, &[8, 9, 0]).facts_with(|facts| {
            facts.interfaces[0].link.driver = Some("newnic".to_owned());
            for (queue, irq) in facts.irqs.iter_mut().enumerate() {
                irq.name = format!("newnic:q{queue}");
            }
        });
        let finding = host.one("irq-affinity");
        assert!(
            finding
                .is
                .contains("(all 3 count: nicety does not know what newnic calls")
        );
        assert_eq!(targets(&host), ["IRQ 53 CPUs→10"]);
    }

    #[test]
    fn interrupts_leave_cpus_of_pinned_guests() {
        let host = mlx5(1, 0, &[0, 1, 2, 3, 4, 5, 6, 7]);
        host.none("irq-affinity");
        let pinned = host.clone().vm("web", &[&[4], &[5], &[6], &[7]]);
        let finding = pinned.one("irq-affinity");
        assert_eq!(
            finding.is,
            "IRQ 55-58: on CPUs 4-7, where vCPU 0 of web and 3 others are pinned"
        );
        assert_eq!(
            targets(&pinned),
            [
                "IRQ 55 CPUs→8",
                "IRQ 56 CPUs→9",
                "IRQ 57 CPUs→10",
                "IRQ 58 CPUs→11"
            ]
        );
        let one = mlx5(1, 0, &[1, 2, 3]).vm("web", &[&[9], &[2]]);
        let finding = one.one("irq-affinity");
        assert_eq!(
            finding.is,
            "IRQ 52: on CPU 2, where vCPU 1 of web is pinned"
        );
        host.vm("web", &[&[4, 5, 6, 7], &[12]]).none("irq-affinity");
    }

    #[test]
    fn interrupts_leave_isolated_cpus() {
        let host = mlx5(1, 0, &[8, 9, 10, 11, 12, 13, 14, 15]);
        host.none("irq-affinity");
        let isolated = (8..16).collect::<Vec<u32>>();
        for tick in [false, true] {
            let cpus = isolated.clone();
            let host = host.clone().facts_with(|facts| {
                if tick {
                    facts.cpu.nohz_full = cpus;
                } else {
                    facts.cpu.isolated = cpus;
                }
            });
            let finding = host.one("irq-affinity");
            assert_eq!(finding.is, "IRQ 51-58: on isolated CPUs 8-15");
            assert_eq!(finding.should, "spread over CPUs 1-7");
        }
    }

    #[test]
    fn many_queues_are_not_put_on_few_cpus() {
        let host = mlx5(1, 0, &[8, 9, 10, 11, 12, 13, 14, 15]);
        let free = |first: u32| {
            let isolated = (first..16).collect();
            let host = host
                .clone()
                .facts_with(|facts| facts.cpu.isolated = isolated);
            host.one("irq-affinity")
        };
        assert_eq!(free(5).changes.len(), 8);
        let finding = free(4);
        assert!(finding.changes.is_empty());
        assert!(finding.advice[0].contains("combined 3"), "{finding:?}");
    }

    #[test]
    fn without_a_free_cpu_a_person_decides() {
        let host = mlx5(1, 0, &[4, 5]).facts_with(|facts| facts.cpu.isolated = (1..16).collect());
        host.none("irq-affinity");
        let waits = host.waits("irq-affinity");
        assert!(
            waits.starts_with("IRQ 51-52 of eth0 are on isolated CPUs 4-5."),
            "{waits}"
        );
    }

    #[test]
    fn a_thread_that_leaves_its_cpu_leaves_it_to_the_interrupt() {
        let host = mlx5(1, 0, &[1, 2]).vm("web", &[&[4]]);
        let host = host.facts_with(|facts| {
            facts.vms[0].vhost = vec![crate::fixture::thread(99, "vhost-1", &[2])];
        });
        assert_eq!(host.find("vhost-placement").len(), 1);
        host.none("irq-affinity");
    }
}
