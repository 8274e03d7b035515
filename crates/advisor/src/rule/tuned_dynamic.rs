//! tuned must not slow an idle NIC down (T34).

use nicety_model::finding::{Certainty, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T34",
    name: "tuned-dynamic",
    checks: "tuned does not slow an idle NIC down",
    fires: "Fires when tuned runs with dynamic tuning on.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[OFF],
    check,
};

const OFF: Reason = Reason {
    why: "tuned lowers an idle port to 100 Mbit/s. On igb and ixgbe the speed change also drops \
          the rate limits of virtual functions.",
    source: "tuned, tuned/plugins/plugin_net.py; Linux drivers igb and ixgbe, speed change",
    cost: "A little power.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let services = &case.facts.services;
    if services.tuned && services.tuned_dynamic == Some(true) {
        let finding = report.find("tuned", "dynamic_tuning = 1", "0", &OFF);
        finding.advice.push(
            "Write dynamic_tuning = 0 in /etc/tuned/tuned-main.conf, then restart tuned."
                .to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn dynamic_tuning_is_found_where_it_runs() {
        let with = |runs, dynamic| {
            Host::new(1, 2).facts_with(move |f| {
                f.services.tuned = runs;
                f.services.tuned_dynamic = Some(dynamic);
            })
        };
        with(true, true).one("tuned-dynamic");
        with(true, false).none("tuned-dynamic");
        with(false, true).none("tuned-dynamic");
    }
}
