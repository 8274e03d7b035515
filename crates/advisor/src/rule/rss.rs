//! Flows spread evenly over the queues (T10).

use nicety_model::finding::{Certainty, Goal, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};

const EVEN: Reason = Reason {
    why: "A queue with more entries of the table gets more flows, so its CPU is full before the \
          others.",
    source: "Linux Documentation/networking/scaling.rst, RSS indirection table",
    cost: "Flows in flight change queues and may be reordered once.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const PORTS: Reason = Reason {
    why: "The hash of UDP takes addresses only: all flows between two hosts (a VXLAN tunnel, a \
          tester) land on one queue.",
    source: "ethtool(8), rx-flow-hash; Linux Documentation/networking/scaling.rst",
    cost: "Fragments of one datagram may take another queue than its first part and be reordered.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

/// Largest difference to an even table that is tolerated.
const SKEW: f64 = 0.1;

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
    for net in case.nics() {
        let Some(rss) = &net.link.rss else { continue };
        let queues = net
            .link
            .queues
            .combined
            .unwrap_or(net.link.queues.rx)
            .max(1);
        let fair = f64::from(rss.entries) / f64::from(queues);
        let most = rss.entries_by_queue.values().copied().max().unwrap_or(0);
        // Entries are whole: a table that does not divide evenly differs by one.
        if queues > 1 && f64::from(most) > (fair * (1.0 + SKEW)).ceil().max(fair.ceil()) {
            let finding = report.find(
                net.name(),
                format!(
                    "one queue has {most} of {} entries, {queues} queues",
                    rss.entries
                ),
                "the same number for each",
                &EVEN,
            );
            finding.formula = Some(format!("{} / {queues} = {fair:.1}", rss.entries));
            finding
                .advice
                .push(format!("ethtool -X {} equal {queues}", net.name()));
        }
        if queues > 1 && case.goal == Goal::Forwarding && rss.udp4_ports == Some(false) {
            let finding = report.find(
                net.name(),
                "UDP flows are spread by addresses",
                "by addresses and ports",
                &PORTS,
            );
            finding
                .advice
                .push(format!("ethtool -N {} rx-flow-hash udp4 sdfn", net.name()));
        }
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::RssFacts;
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    fn host(by_queue: &[u32], ports: bool) -> Host {
        let rss = RssFacts {
            entries: by_queue.iter().sum(),
            entries_by_queue: (0..).zip(by_queue.iter().copied()).collect(),
            udp4_ports: Some(ports),
        };
        Host::new(1, 8)
            .nic("eth0", 10_000, 0)
            .combined(by_queue.len() as u32, 8)
            .nic_with(|n| n.link.rss = Some(rss))
    }

    #[test]
    fn a_skewed_table_and_a_blind_hash_are_found() {
        assert!(host(&[96, 32], true).one("rss").advice[0].contains("equal 2"));
        host(&[43, 43, 42], true).none("rss");
        assert_eq!(
            host(&[64, 64], false)
                .goal(Goal::Forwarding)
                .find("rss")
                .len(),
            1
        );
        host(&[64, 64], false).none("rss");
    }
}
