//! Time for one round of receive work (T16).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;
use nicety_model::total;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T16",
    name: "napi-budget",
    checks: "A round of receive work has enough budget",
    fires: "Fires when over 0.1 % of frames in the window end a round early. Not for latency.",
    writes: Some("net.core.netdev_budget: 600; net.core.netdev_budget_usecs: 16000"),
    gain: Gain::Small,
    reasons: &[MORE],
    check,
};

const MORE: Reason = Reason {
    why: "The budget ran out with frames left. They wait for the next round, behind other work.",
    source: "Linux Documentation/admin-guide/sysctl/net.rst, netdev_budget and \
             netdev_budget_usecs; /proc/net/softnet_stat column 3",
    cost: "A round may keep a CPU from programs twice as long. Check the slowest responses.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

/// Rounds cut short per frame above which it counts.
const OFTEN: f64 = 0.001;
const WANTED: [(&str, u64); 2] = [
    ("net.core.netdev_budget", 600),
    ("net.core.netdev_budget_usecs", 16_000),
];

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal == Goal::Latency {
        return;
    }
    let before = total(case.facts.softnet.iter().map(|cpu| cpu.time_squeeze));
    let what = format!("rounds that ran out of budget ({before} since boot)");
    let Some(window) = case.window(report, &what) else {
        return;
    };
    let processed = total(window.softnet.iter().map(|cpu| cpu.processed));
    let squeezed = total(window.softnet.iter().map(|cpu| cpu.time_squeeze));
    if (squeezed as f64) <= processed as f64 * OFTEN {
        return;
    }
    let low: Vec<(&str, u64, u64)> = WANTED
        .iter()
        .filter_map(|&(name, wanted)| {
            let now = case.facts.sysctl_number(name)?;
            (now < wanted).then_some((name, now, wanted))
        })
        .collect();
    if low.is_empty() {
        return;
    }
    let finding = report.find(
        "host",
        format!(
            "{squeezed} rounds ran out of budget for {processed} frames {}",
            in_seconds(window)
        ),
        "twice the budget",
        &MORE,
    );
    finding.formula = Some(format!("{squeezed} / {processed} > {OFTEN}"));
    finding.changes = low
        .into_iter()
        .map(|(name, now, wanted)| change(Knob::sysctl(name), now, wanted))
        .collect();
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::SoftnetFacts;

    use crate::fixture::Host;

    #[test]
    fn a_budget_that_runs_out_is_doubled_once() {
        let host = |squeezed, budget: &str| {
            let cpu = SoftnetFacts {
                processed: 100_000,
                time_squeeze: squeezed,
                ..SoftnetFacts::default()
            };
            let host = Host::new(1, 4).watched(cpu);
            host.sysctl("net.core.netdev_budget", budget)
                .sysctl("net.core.netdev_budget_usecs", "16000")
        };
        let finding = host(101, "300").one("napi-budget");
        assert_eq!(
            (finding.changes.len(), finding.changes[0].to.as_str()),
            (1, "600")
        );
        // A budget that is huge already stays, and the time is what ran out.
        let huge = host(101, "65535").sysctl("net.core.netdev_budget_usecs", "2000");
        let changes = huge.one("napi-budget").changes;
        assert_eq!(
            (changes.len(), changes[0].knob.to_string().as_str()),
            (1, "net.core.netdev_budget_usecs")
        );
        host(101, "65535").none("napi-budget");
        host(100, "300").none("napi-budget");
        host(101, "600").none("napi-budget");
        let once = host(101, "300").facts_with(|f| f.window = None);
        once.none("napi-budget");
        assert!(once.waits("napi-budget").contains("--window"));
    }
}
