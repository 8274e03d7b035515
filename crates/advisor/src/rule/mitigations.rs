//! Mitigations switched off are told, never advised (T31).

use nicety_model::finding::{Certainty, Effect, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};

const MITIGATIONS_OFF: Reason = Reason {
    why: "Figures of this host do not compare with those of one that is protected.",
    source: "Linux Documentation/admin-guide/hw-vuln",
    cost: "None: nothing is advised.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
    let words = case.facts.host.cmdline.split_whitespace();
    let off = words.rev().find(|word| word.starts_with("mitigations="));
    if off == Some("mitigations=off") {
        report
            .find(
                "host",
                "mitigations=off on the command line",
                "known to whoever reads its figures",
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
