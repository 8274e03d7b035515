//! Queue interrupts near the NIC, one per core, off the first CPU (T04).

use std::collections::BTreeMap;

use nicety_model::cpu_list::{format_cpu_list, name_cpus};
use nicety_model::facts::{IrqFacts, NetFacts};
use nicety_model::finding::{Certainty, Effect, Gain, Risk};
use nicety_model::knob::Knob;
use nicety_model::total;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::place::irq_cpus;
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T04",
    name: "irq-affinity",
    checks: "Queue interrupts run near the NIC, one per core",
    fires: "Fires when queue interrupts run on another node, share a CPU, or land on a busy CPU 0.",
    writes: Some("smp_affinity_list of each queue interrupt: one core of the NIC's node each"),
    gain: Gain::Large,
    reasons: &[SPREAD],
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

/// Share of the received soft interrupts on the first CPU above which it counts as crowded.
const CROWDED: f64 = 0.25;
/// With fewer CPUs near the NIC there is nothing to spread to.
const FEWEST_CPUS: usize = 4;

fn check(case: &Case<'_>, report: &mut Report) {
    for net in case.nics() {
        nic(case, net, report);
    }
}

fn nic(case: &Case<'_>, net: &NetFacts, report: &mut Report) {
    let irqs = case.queue_irqs(net);
    let local = case.local_cpus(net);
    let targets = irq_cpus(case, net);
    if irqs.is_empty() || local.len() < FEWEST_CPUS || targets.is_empty() {
        return;
    }
    let Some(problem) = problem(case, &irqs, &local, targets.len()) else {
        return;
    };
    let managed = irqs.iter().any(|irq| irq.managed == Some(true));
    // In a circle: more queues than cores share the cores evenly.
    let wanted: Vec<(&IrqFacts, u32)> = irqs
        .iter()
        .copied()
        .zip(targets.iter().copied().cycle())
        .collect();
    let numbers: Vec<u32> = irqs.iter().map(|irq| irq.irq).collect();
    let used: Vec<u32> = wanted.iter().map(|(_, cpu)| *cpu).collect();
    let finding = report.find(
        net.name(),
        format!("IRQ {}: {problem}", format_cpu_list(&numbers)),
        format!("one each on {}", name_cpus(&used)),
        &SPREAD,
    );
    if let Some(node) = case.node_of(net).filter(|_| case.has_nodes()) {
        finding.formula = Some(format!(
            "queue i → core i of node {node}, except CPU 0, isolated CPUs and CPUs of pinned vCPUs"
        ));
    }
    if managed {
        finding.effect = Effect::Never;
        finding.advice.push(
            "The kernel places these interrupts itself. Change the number of channels, or boot with \
             isolcpus=managed_irq,…"
                .to_owned(),
        );
        return;
    }
    finding.changes = wanted
        .iter()
        .filter(|(irq, cpu)| irq.affinity != [*cpu])
        .map(|(irq, cpu)| {
            change(
                Knob::IrqAffinity { irq: irq.irq },
                format_cpu_list(&irq.affinity),
                cpu,
            )
        })
        .collect();
}

/// What is wrong, if anything.
fn problem(case: &Case<'_>, irqs: &[&IrqFacts], local: &[u32], room: usize) -> Option<String> {
    let mut on: BTreeMap<u32, usize> = BTreeMap::new();
    for irq in irqs {
        for cpu in &irq.effective {
            *on.entry(*cpu).or_default() += 1;
        }
    }
    let far: Vec<u32> = on
        .keys()
        .copied()
        .filter(|cpu| !local.contains(cpu))
        .collect();
    if !far.is_empty() {
        return Some(format!("on {}, not on the NIC's node", name_cpus(&far)));
    }
    let fair = irqs.len().div_ceil(room);
    let crowd = on.iter().max_by_key(|(_, count)| **count);
    if let Some((cpu, &count)) = crowd
        && count > fair
    {
        return Some(format!("{count} of {} on CPU {cpu}", irqs.len()));
    }
    let rx = total(case.softnet().iter().filter_map(|cpu| cpu.net_rx));
    let first = case.softnet().iter().find(|cpu| cpu.cpu == 0)?.net_rx?;
    let share = first as f64 / rx.max(1) as f64;
    (on.contains_key(&0) && share > CROWDED).then(|| {
        format!(
            "one on CPU 0, which does {:.0} % of all receive work {}",
            share * 100.0,
            case.softnet_time()
        )
    })
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
            ["IRQ 30 CPUs→1"],
            "the second is well placed already"
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
}
