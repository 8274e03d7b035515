//! The backlog between interrupt and protocol work (T15).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;
use nicety_model::total;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T15",
    name: "backlog",
    checks: "The per-CPU backlog holds a burst",
    fires: "Fires when a full backlog drops frames in the window, or when rate × round trip time \
            is 125 MB or more.",
    writes: Some("net.core.netdev_max_backlog: doubled, at most 30000; 300000 on long fast paths"),
    gain: Gain::Medium,
    reasons: &[LONGER, FAR],
    check,
};

const LONGER: Reason = Reason {
    why: "Frames from steering, veth and tunnels wait in a queue per CPU. A full queue drops them.",
    source: "Linux Documentation/admin-guide/sysctl/net.rst, netdev_max_backlog",
    cost: "A longer queue adds delay when it fills.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const FAR: Reason = Reason {
    why: "A receiver that pauses can get a whole window at once. A short backlog drops part of it.",
    source: "Oracle VM 3 10GbE network performance tuning (2013), figure 1: 300000 for 10 Gbit/s \
             and 100 ms",
    cost: "A longer queue adds delay when it fills. Without steering, veth or tunnels it has no \
           effect.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

const SYSCTL: &str = "net.core.netdev_max_backlog";
/// Beyond this a queue is delay.
const MOST: u64 = 30_000;
/// The paper's case: 10 Gbit/s × 100 ms, and its value.
const FAR_BYTES: u64 = 125_000_000;
const FAR_FRAMES: u64 = 300_000;

fn check(case: &Case<'_>, report: &mut Report) {
    let Some(now) = case.facts.sysctl_number(SYSCTL) else {
        return;
    };
    let bdp = case.bdp_bytes().unwrap_or(0);
    if case.goal == Goal::Throughput && bdp >= FAR_BYTES {
        if now < FAR_FRAMES {
            let finding = report.find(
                "host",
                format!("{SYSCTL} = {now}"),
                format!("{FAR_FRAMES}"),
                &FAR,
            );
            finding.formula = case.bdp_words();
            finding
                .changes
                .push(change(Knob::sysctl(SYSCTL), now, FAR_FRAMES));
        }
        return;
    }
    let before = total(case.facts.softnet.iter().map(|cpu| cpu.dropped));
    let what = format!("frames dropped by full backlogs ({before} since boot)");
    let Some(window) = case.window(report, &what) else {
        return;
    };
    let dropped = total(window.softnet.iter().map(|cpu| cpu.dropped));
    if dropped > 0 && now < MOST {
        let wanted = now.saturating_mul(2).min(MOST);
        let finding = report.find(
            "host",
            format!(
                "{SYSCTL} = {now}, {dropped} frames dropped {} ({:.0} a second)",
                in_seconds(window),
                dropped as f64 / window.seconds
            ),
            format!("{wanted}; double it again while frames are dropped, at most {MOST}"),
            &LONGER,
        );
        finding.formula = Some(format!("2 × {now}, at most {MOST} = {wanted}"));
        finding
            .changes
            .push(change(Knob::sysctl(SYSCTL), now, wanted));
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::SoftnetFacts;

    use crate::fixture::Host;

    #[test]
    fn one_reading_is_not_enough() {
        let host = Host::new(1, 4).sysctl("net.core.netdev_max_backlog", "1000");
        let host = host
            .processed(&[10])
            .facts_with(|f| f.softnet[0].dropped = 5);
        host.none("backlog");
        assert!(host.waits("backlog").contains("(5 since boot)"));
    }

    #[test]
    fn the_backlog_doubles_while_it_drops_and_never_shrinks() {
        for (now, dropped, rtt, wanted) in [
            ("1000", 0, None, None),
            ("1000", 5, None, Some("2000")),
            ("20000", 5, None, Some("30000")),
            ("30000", 5, None, None),
            ("250000", 5, None, None),
            ("1000", 0, Some(100.0), Some("300000")),
            ("1000", 0, Some(1.0), None),
            ("400000", 0, Some(100.0), None),
        ] {
            let host = Host::new(1, 4)
                .nic("eth0", 10_000, 0)
                .sysctl("net.core.netdev_max_backlog", now);
            let cpu = SoftnetFacts {
                dropped,
                ..SoftnetFacts::default()
            };
            let host = host.watched(cpu).wish(|w| w.rtt_ms = rtt);
            let findings = host.find("backlog");
            assert_eq!(
                findings.first().map(|f| f.changes[0].to.as_str()),
                wanted,
                "{now} {dropped} {rtt:?}"
            );
        }
    }
}
