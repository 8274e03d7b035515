//! Interrupts soon enough for the goal (T11).

use nicety_model::finding::{Certainty, Goal, Risk};
use nicety_model::knob::{CoalesceParameter, Knob};

use crate::case::Case;
use crate::draft::{Reason, Report, change};

const SOON: Reason = Reason {
    why: "A frame waits for the interrupt as long as the NIC is told to collect: that time is part \
          of every response.",
    source: "ethtool(8), --coalesce",
    cost: "More interrupts, so less throughput with many small frames.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Longest wait that is no delay worth naming, in µs.
const SHORT_US: u32 = 10;
/// What is proposed, in µs.
const WANTED_US: u32 = 8;

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal != Goal::Latency {
        report.wait("interrupts per second, which one reading of the counters does not tell");
        return;
    }
    for net in case.nics() {
        let Some(now) = &net.link.coalescing else {
            continue;
        };
        let long = now.rx_usecs > SHORT_US;
        if !long && !now.adaptive_rx {
            continue;
        }
        let finding = report.find(
            net.name(),
            format!(
                "the NIC waits {} µs{}",
                now.rx_usecs,
                if now.adaptive_rx {
                    ", adapted by the driver"
                } else {
                    ""
                }
            ),
            format!("at most {WANTED_US} µs, not adapted"),
            &SOON,
        );
        let knob = |parameter| Knob::Coalesce {
            interface: net.link.name.clone(),
            parameter,
        };
        if now.adaptive_rx {
            finding
                .changes
                .push(change(knob(CoalesceParameter::AdaptiveRx), "on", "off"));
        }
        if long {
            finding.changes.push(change(
                knob(CoalesceParameter::RxUsecs),
                now.rx_usecs,
                WANTED_US,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::Coalescing;
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    #[test]
    fn long_waits_are_shortened_for_latency_only() {
        for (usecs, adaptive, goal, changes) in [
            (50, true, Goal::Latency, 2),
            (50, false, Goal::Latency, 1),
            (3, true, Goal::Latency, 1),
            (3, false, Goal::Latency, 0),
            (50, true, Goal::Throughput, 0),
        ] {
            let coalescing = Coalescing {
                rx_usecs: usecs,
                adaptive_rx: adaptive,
                ..Coalescing::default()
            };
            let host = Host::new(1, 4)
                .nic("eth0", 10_000, 0)
                .nic_with(|n| n.link.coalescing = Some(coalescing))
                .goal(goal);
            let found: usize = host
                .find("coalescing")
                .iter()
                .map(|f| f.changes.len())
                .sum();
            assert_eq!(found, changes, "{usecs} {adaptive} {goal}");
        }
    }
}
