//! Flows spread evenly over the queues (T35).

use nicety_model::facts::NetFacts;
use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::total;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T35",
    name: "rss",
    checks: "Flows spread evenly over the queues",
    fires: "Fires when the RSS table is uneven, or one queue takes over 1.3 times the mean in the \
            window. For forwarding, when UDP ports are not hashed.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[EVEN, PORTS, SPREAD],
    check,
};

const EVEN: Reason = Reason {
    why: "A queue with more table entries gets more flows. Its CPU is full before the others.",
    source: "Linux Documentation/networking/scaling.rst, RSS indirection table",
    cost: "Flows change queues and may be reordered once.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const PORTS: Reason = Reason {
    why: "UDP is hashed by addresses only. All flows between two hosts (a VXLAN tunnel, a tester) \
          land on one queue.",
    source: "ethtool(8), rx-flow-hash; Linux Documentation/networking/scaling.rst",
    cost: "Fragments of a datagram may take another queue than its first part, and arrive out of \
           order.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

const SPREAD: Reason = Reason {
    why: "The CPU of the busiest queue is full while the others wait.",
    source: "Linux Documentation/networking/scaling.rst; design rule: at most 1.3 times the mean",
    cost: "Flows change queues and may be reordered once.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// A queue may take so many times the mean of all.
const BUSIEST: f64 = 1.3;
/// Fewer frames per second than this fill no queue.
const MATTERS_PER_S: f64 = 10_000.0;
/// Largest difference to an even table that is tolerated.
const SKEW: f64 = 0.1;

fn check(case: &Case<'_>, report: &mut Report) {
    for net in case.nics() {
        let Some(rss) = &net.link.rss else { continue };
        let queues = net.link.queues.receiving();
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
                "the same number for each queue",
                &EVEN,
            );
            finding.formula = Some(format!("{} / {queues} = {fair:.1}", rss.entries));
            finding
                .advice
                .push(format!("ethtool -X {} equal {queues}", net.name()));
        }
        spread(case, net, queues, rss.udp4_ports, report);
        if queues > 1 && case.goal == Goal::Forwarding && rss.udp4_ports == Some(false) {
            let finding = report.find(
                net.name(),
                "UDP flows are hashed by addresses",
                "by addresses and ports",
                &PORTS,
            );
            finding.advice.push(by_ports(net));
        }
    }
}

/// Puts ports into the hash of UDP.
fn by_ports(net: &NetFacts) -> String {
    format!("ethtool -N {} rx-flow-hash udp4 sdfn", net.name())
}

/// Frames by queue while somebody looked on.
fn spread(
    case: &Case<'_>,
    net: &NetFacts,
    queues: u32,
    udp4_ports: Option<bool>,
    report: &mut Report,
) {
    let Some(window) = &case.facts.window else {
        return;
    };
    let Some(frames) = window.queue_frames.get(net.name()) else {
        return;
    };
    let sum = total(frames.values());
    let Some((queue, most)) = frames.iter().max_by_key(|(_, frames)| **frames) else {
        return;
    };
    let mean = sum as f64 / f64::from(queues);
    let few = (sum as f64) < MATTERS_PER_S * window.seconds;
    if queues < 2 || few || *most as f64 <= BUSIEST * mean {
        return;
    }
    let finding = report.find(
        net.name(),
        format!(
            "queue {queue} of {queues} took {:.0} % of the frames {}",
            100.0 * *most as f64 / sum as f64,
            in_seconds(window)
        ),
        format!("{:.0} % each", 100.0 / f64::from(queues)),
        &SPREAD,
    );
    finding.formula = Some(format!(
        "{most} frames > {BUSIEST} × {sum} / {queues} queues"
    ));
    if udp4_ports == Some(false) {
        finding.advice.push(by_ports(net));
    }
    finding.advice.push(
        "Few flows stay on few queues, whatever the table. Use more flows, or software steering \
         (RPS, RFS)."
            .to_owned(),
    );
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
        host(&[70, 58], true).none("rss");
        assert_eq!(
            host(&[64, 64], false)
                .goal(Goal::Forwarding)
                .find("rss")
                .len(),
            1
        );
        host(&[64, 64], false).none("rss");
    }

    #[test]
    fn a_queue_that_takes_most_frames_is_found_under_load_only() {
        let watched = |frames: [u64; 4]| {
            let frames = (0..).zip(frames).collect();
            host(&[32; 4], true).window(5.0, |window| {
                window.queue_frames = [("eth0".to_owned(), frames)].into();
            })
        };
        let finding = watched([100_000, 700_000, 100_000, 100_000]).one("rss");
        assert_eq!(finding.is, "queue 1 of 4 took 70 % of the frames in 5 s");
        assert!(finding.changes.is_empty() && finding.advice.len() == 1);
        watched([250_000, 300_000, 250_000, 200_000]).none("rss");
        watched([10, 4_000, 10, 10]).none("rss");
        host(&[32; 4], true).none("rss");
    }
}
