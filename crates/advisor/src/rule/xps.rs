//! Transmit packet steering (T08): each CPU its own queue.

use std::collections::BTreeSet;

use nicety_model::facts::{NetFacts, QueueSteering};
use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::place::mask;
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T08",
    name: "xps",
    checks: "Each CPU sends on a queue of its own",
    fires: "Fires when several transmit queues have no map, or CPUs of two nodes share one.",
    writes: Some("xps_cpus of each transmit queue: CPU i of the NIC's node → queue i mod queues"),
    gain: Gain::Small,
    reasons: &[OWN],
    check,
};

const OWN: Reason = Reason {
    why: "Without a map CPUs share queues and wait for each other's locks. Sent frames are freed \
          on another CPU.",
    source: "Linux Documentation/networking/scaling.rst, XPS",
    cost: "Almost none.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let online = case.facts.cpu.cpus.len();
    for net in case.nics() {
        let queues = &net.tx_steering;
        let near = case.local_cpus(net);
        if queues.len() < 2 || near.is_empty() {
            continue;
        }
        let unset = queues.iter().all(|queue| queue.cpus.is_empty());
        let crossing = queues.iter().filter(|queue| crosses(case, queue)).count();
        let is = match (unset, crossing) {
            (true, _) if forwarded_alike(case, net) => continue,
            (true, _) => format!("{} transmit queues without a map", queues.len()),
            (false, 0) => continue,
            (false, some) => format!(
                "CPUs of several nodes share {some} of {} transmit queues",
                queues.len()
            ),
        };
        let finding = report.find(
            net.name(),
            is,
            "one queue for each CPU near the NIC, in turn",
            &OWN,
        );
        finding.formula = Some("CPU i → queue i mod queues".to_owned());
        finding.changes = queues
            .iter()
            .enumerate()
            .map(|(index, queue)| {
                let own: Vec<u32> = near
                    .iter()
                    .copied()
                    .skip(index)
                    .step_by(queues.len())
                    .collect();
                let path = format!(
                    "class/net/{}/queues/tx-{}/xps_cpus",
                    net.name(),
                    queue.queue
                );
                let now = mask(&queue.cpus, online);
                change(Knob::sys_file(path), now, mask(&own, online))
            })
            .filter(|change| change.from != change.to)
            .collect();
    }
}

/// Whether CPUs of several nodes take turns at a queue: its lock and its descriptors go from one
/// node's memory to the other's.
fn crosses(case: &Case<'_>, queue: &QueueSteering) -> bool {
    let seats = queue
        .cpus
        .iter()
        .filter_map(|cpu| case.facts.cpu.seat(*cpu));
    let nodes: BTreeSet<u32> = seats.filter_map(|seat| seat.node).collect();
    nodes.len() > 1
}

/// Without a map a forwarded frame is sent on the queue of the number it came in on (`skb_tx_hash` in
/// net/core/dev.c), which keeps a flow on one CPU all the way. `xps_rxqs` would add nothing: the kernel
/// asks it for the frames of sockets only.
fn forwarded_alike(case: &Case<'_>, net: &NetFacts) -> bool {
    case.goal == Goal::Forwarding && net.rx_steering.len() == net.tx_steering.len()
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    #[test]
    fn queues_are_not_shared_by_nodes() {
        // CPUs 0 to 3 are near, 4 to 7 are not.
        let host = Host::new(2, 4).nic("eth0", 10_000, 0);
        let finding = host.clone().tx_queues(&[&[0, 4], &[1]]).one("xps");
        assert!(finding.is.contains("share 1 of 2 "), "{}", finding.is);
        let to: Vec<&str> = finding.changes.iter().map(|c| c.to.as_str()).collect();
        assert_eq!(
            (finding.changes[0].from.as_str(), to),
            ("11", vec!["05", "0a"])
        );
        host.tx_queues(&[&[0, 1], &[4, 5]]).none("xps");
    }

    #[test]
    fn forwarded_frames_need_no_map() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .tx_queues(&[&[], &[]]);
        let host = host.goal(Goal::Forwarding);
        host.clone().queues(2, &[]).none("xps");
        host.clone().queues(1, &[]).one("xps");
        host.queues(2, &[]).goal(Goal::Throughput).one("xps");
    }

    #[test]
    fn every_cpu_gets_a_queue() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0);
        let finding = host.clone().tx_queues(&[&[], &[]]).one("xps");
        let to: Vec<&str> = finding.changes.iter().map(|c| c.to.as_str()).collect();
        assert_eq!(to, ["5", "a"]);
        host.clone().tx_queues(&[&[0], &[1]]).none("xps");
        host.tx_queues(&[&[]]).none("xps");
    }
}
