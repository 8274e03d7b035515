//! Receive packet steering (T06): spreads one queue's work, or is in the way.

use nicety_model::cpu_list::name_cpus;
use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::place::mask;
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T06",
    name: "rps",
    checks: "Software steering helps where queues are few",
    fires: "Fires when one CPU receives over 80 % of frames with few queues, or when steering is \
            on with a queue per core.",
    writes: Some(
        "rps_cpus of each receive queue: CPUs of the NIC's node without those of its \
                  interrupts; or none",
    ),
    gain: Gain::Medium,
    reasons: &[STEER, REDUNDANT],
    check,
};

const STEER: Reason = Reason {
    why: "With few queues one CPU does all receive work. Steering moves the protocol work of each \
          flow to another core.",
    source: "Linux Documentation/networking/scaling.rst, RPS",
    cost: "One interrupt between CPUs per batch. Switch it off for forwarding tests.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

const REDUNDANT: Reason = Reason {
    why: "With a queue per core the NIC has spread the flows already. Steering moves them again \
          for nothing.",
    source: "Linux Documentation/networking/scaling.rst, RPS: redundant with enough queues",
    cost: "None.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Share of one CPU above which the others should help.
const CROWDED: f64 = 0.8;

fn check(case: &Case<'_>, report: &mut Report) {
    let online = case.facts.cpu.cpus.len();
    for net in case.nics().filter(|net| !net.rx_steering.is_empty()) {
        let queues = net.rx_steering.len();
        let cores = case.local_cores(net);
        let steered: Vec<_> = net
            .rx_steering
            .iter()
            .filter(|q| !q.cpus.is_empty())
            .collect();
        let path = |queue: u32| {
            Knob::sys_file(format!(
                "class/net/{}/queues/rx-{queue}/rps_cpus",
                net.name()
            ))
        };
        if queues >= cores && queues > 1 && !steered.is_empty() {
            let finding = report.find(
                net.name(),
                format!(
                    "{} of {queues} queues steered, {cores} nearby cores",
                    steered.len()
                ),
                "no steering",
                &REDUNDANT,
            );
            finding.formula = Some(format!("{queues} queues ≥ {cores} cores"));
            finding.changes = steered
                .iter()
                .map(|q| change(path(q.queue), mask(&q.cpus, online), mask(&[], online)))
                .collect();
            continue;
        }
        let Some((cpu, share)) = case.busiest_receiver_of(net) else {
            continue;
        };
        let few = queues * 2 < cores;
        if case.goal == Goal::Forwarding || !few || share <= CROWDED || !steered.is_empty() {
            continue;
        }
        let irq: Vec<u32> = case
            .queue_irqs(net)
            .iter()
            .flat_map(|i| i.effective.clone())
            .collect();
        let taken = case.pinned_cpus();
        let isolated = &case.facts.cpu.isolated;
        let free = |cpu: &u32| ![&irq, isolated].iter().any(|cpus| cpus.contains(cpu));
        let helpers = case.local_cpus(net).into_iter().filter(free);
        let helpers: Vec<u32> = helpers.filter(|cpu| !taken.contains(cpu)).collect();
        if helpers.is_empty() {
            continue;
        }
        let finding = report.find(
            net.name(),
            format!(
                "{queues} queues, CPU {cpu} received {:.0} % of all frames {}",
                share * 100.0,
                case.softnet_time()
            ),
            format!("steer to {}", name_cpus(&helpers)),
            &STEER,
        );
        finding.formula = Some(format!(
            "{queues} queues < ½ × {cores} cores; mask = CPUs near the NIC − those of its interrupts, \
             of pinned threads and isolated ones"
        ));
        finding.changes = net
            .rx_steering
            .iter()
            .map(|q| change(path(q.queue), mask(&[], online), mask(&helpers, online)))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    #[test]
    fn one_busy_queue_is_spread_over_the_node() {
        let host = Host::new(1, 8)
            .nic("eth0", 10_000, 0)
            .queues(1, &[])
            .irq(30, "eth0", &[2], 9);
        let busy = host.processed(&[10, 10, 2_000_000, 10]);
        let finding = busy.one("rps");
        assert_eq!(
            (
                finding.changes[0].from.as_str(),
                finding.changes[0].to.as_str()
            ),
            ("00", "fb")
        );
        let pinned = busy.clone().vm("a", &[&[4], &[5]]);
        assert_eq!(pinned.one("rps").changes[0].to, "cb");
        // The frames of that CPU are another NIC's.
        let other = busy.clone().nic("eth1", 10_000, 0).irq(31, "eth1", &[2], 9);
        let mine = other.facts_with(|facts| facts.irqs[0].effective = vec![3]);
        mine.none("rps");
        busy.clone().goal(Goal::Forwarding).none("rps");
        busy.processed(&[900_000, 900_000]).none("rps");
    }

    #[test]
    fn steering_beside_enough_queues_is_taken_out() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0);
        let finding = host.clone().queues(4, &[0, 1]).one("rps");
        assert_eq!(finding.changes.len(), 4);
        assert_eq!(
            (
                finding.changes[0].from.as_str(),
                finding.changes[0].to.as_str()
            ),
            ("3", "0")
        );
        host.queues(4, &[]).none("rps");
    }
}
