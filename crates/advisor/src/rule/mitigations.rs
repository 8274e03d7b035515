//! Mitigations switched off are told, never advised (T31).

use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T31",
    name: "mitigations",
    checks: "CPU mitigations are on",
    fires: "Fires when the kernel command line has mitigations=off.",
    writes: None,
    gain: Gain::Small,
    reasons: &[MITIGATIONS_OFF],
    check,
};

const MITIGATIONS_OFF: Reason = Reason {
    why: "Numbers of this host do not compare with those of a protected host.",
    source: "Linux Documentation/admin-guide/hw-vuln",
    cost: "None: nicety does not advise a change.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let words = case.facts.host.cmdline.split_whitespace();
    let off = words.rev().find(|word| word.starts_with("mitigations="));
    if off == Some("mitigations=off") {
        report
            .find(
                "host",
                "mitigations=off on the kernel command line",
                "no change; mention it beside measured numbers",
                &MITIGATIONS_OFF,
            )
            .effect = Effect::Nothing;
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn switched_off_mitigations_are_told() {
        let with = |cmdline: &'static str| {
            Host::new(1, 2).facts_with(move |f| f.host.cmdline = cmdline.to_owned())
        };
        assert!(
            with("ro mitigations=off")
                .one("mitigations")
                .changes
                .is_empty()
        );
        with("ro mitigations=auto").none("mitigations");
    }
}
