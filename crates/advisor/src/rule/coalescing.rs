//! Interrupts soon enough for the goal (T11).

use nicety_model::facts::WindowFacts;
use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::{CoalesceParameter, Knob};

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T11",
    name: "coalescing",
    checks: "Interrupt coalescing fits the goal",
    fires: "Fires for latency when the NIC delays interrupts over 10 µs or adapts. Else when a \
            CPU takes over 50000 interrupts a second.",
    writes: Some("rx-usecs and adaptive-rx of the NIC (ethtool -C)"),
    gain: Gain::Medium,
    reasons: &[SOON, GATHERED],
    check,
};

const SOON: Reason = Reason {
    why: "The NIC holds a frame back until its interrupt timer ends. Each response waits that \
          long.",
    source: "ethtool(8), --coalesce",
    cost: "More interrupts. Throughput of small frames drops.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const GATHERED: Reason = Reason {
    why: "Each interrupt costs CPU time. A longer timer lets more frames share one interrupt.",
    source: "ethtool(8), --coalesce; design rule: above 50000 interrupts a second and core",
    cost: "Each response waits up to that much longer. Leave it where response time matters.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Interrupts of interfaces per second on one CPU above which it counts.
const MANY_PER_S: f64 = 50_000.0;
/// Longest wait that is proposed, in µs.
const LONGEST_US: f64 = 100.0;
/// Longest wait that is no delay worth naming, in µs.
const SHORT_US: u32 = 10;
/// What is proposed, in µs.
const WANTED_US: u32 = 8;

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal == Goal::Latency {
        soon(case, report);
    } else if let Some(window) = case.window(report, "interrupts per second") {
        gather(case, window, report);
    }
}

fn soon(case: &Case<'_>, report: &mut Report) {
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
                "the NIC delays interrupts {} µs{}",
                now.rx_usecs,
                if now.adaptive_rx { ", adaptive" } else { "" }
            ),
            format!("at most {WANTED_US} µs, not adaptive"),
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

/// Longer waits where interrupts take a CPU's time.
fn gather(case: &Case<'_>, window: &WindowFacts, report: &mut Report) {
    for net in case.nics() {
        let (Some(now), Some(rings)) = (&net.link.coalescing, &net.link.rings) else {
            continue;
        };
        let busiest = case
            .queue_irqs(net)
            .iter()
            .flat_map(|irq| irq.effective.iter().copied())
            .filter_map(|cpu| Some((cpu, *window.interrupts.get(&cpu)? as f64 / window.seconds)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((cpu, rate)) = busiest.filter(|(_, rate)| *rate > MANY_PER_S) else {
            continue;
        };
        let queues = f64::from(net.link.queues.receiving());
        let frames = window.counter(net.name(), "rx_packets") as f64;
        let fps = frames / window.seconds / queues;
        if fps <= 0.0 {
            // They are another port's.
            continue;
        }
        // Half a ring is free when the interrupt comes.
        let wait = (f64::from(rings.rx) * 0.5 / fps * 1e6).min(LONGEST_US);
        let wanted = wait as u32;
        // The driver adapts already, or waits as long as it may.
        if now.adaptive_rx || now.rx_usecs >= wanted {
            continue;
        }
        let finding = report.find(
            net.name(),
            format!(
                "{rate:.0} interrupts a second on CPU {cpu} {}, the NIC delays them {} µs",
                in_seconds(window),
                now.rx_usecs
            ),
            format!("{wanted} µs"),
            &GATHERED,
        );
        finding.formula = Some(format!(
            "½ × ring {} / {fps:.0} frames a second and queue, at most {LONGEST_US} µs = {wanted} µs",
            rings.rx
        ));
        let knob = Knob::Coalesce {
            interface: net.link.name.clone(),
            parameter: CoalesceParameter::RxUsecs,
        };
        finding.changes.push(change(knob, now.rx_usecs, wanted));
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
            let findings: usize = host
                .find("coalescing")
                .iter()
                .map(|f| f.changes.len())
                .sum();
            assert_eq!(findings, changes, "{usecs} {adaptive} {goal}");
        }
    }

    /// A port of two queues that brings `frames` with `interrupts` on CPU 2 in 5 s.
    fn watched(frames: u64, interrupts: u64, usecs: u32) -> Host {
        let coalescing = Coalescing {
            rx_usecs: usecs,
            ..Coalescing::default()
        };
        Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .ring(256, 4096)
            .combined(2, 2)
            .nic_with(|n| n.link.coalescing = Some(coalescing))
            .irq(30, "eth0", &[2], 9)
            .window(5.0, |window| {
                let moved = [("rx_packets".to_owned(), frames)].into();
                window.counters.insert("eth0".to_owned(), moved);
                window.interrupts.insert(2, interrupts);
            })
    }

    #[test]
    fn many_interrupts_are_gathered_for_throughput() {
        // 2 Mfps on each queue: half a ring of 256 fills in 64 µs.
        let finding = watched(20_000_000, 300_000, 3).one("coalescing");
        assert_eq!(finding.changes[0].to, "64");
        assert!(
            finding
                .is
                .starts_with("60000 interrupts a second on CPU 2 in 5 s")
        );
        let slow = watched(1_000_000, 300_000, 3).one("coalescing");
        assert_eq!(slow.changes[0].to, "100", "the longest wait");
        watched(20_000_000, 250_000, 3).none("coalescing");
        watched(20_000_000, 300_000, 64).none("coalescing");
        watched(0, 300_000, 3).none("coalescing");
        let once = watched(20_000_000, 300_000, 3).facts_with(|f| f.window = None);
        once.none("coalescing");
        assert!(once.waits("coalescing").contains("--window"));
    }
}
