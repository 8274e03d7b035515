//! Two that set the same (T33).

use std::collections::BTreeMap;

use nicety_model::facts::OwnerKind;
use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T33",
    name: "rival-owner",
    checks: "One file sets each setting",
    fires: "Fires when sysctl files or tuned set one sysctl to different values.",
    writes: None,
    gain: Gain::Small,
    reasons: &[ONE],
    check,
};

const ONE: Reason = Reason {
    why: "The last writer wins. After a boot, a service restart or a package update the other \
          value holds.",
    source: "sysctl.d(5): the last file by name wins; github.com/NVIDIA/nodewright-packages pull \
             109: tuned loses to sysctl.d with reapply_sysctl",
    cost: "None.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let mut by_key: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    let owners = case.facts.owners.iter();
    let setters = owners.filter(|owner| matches!(owner.kind, OwnerKind::Sysctl | OwnerKind::Tuned));
    for owner in setters {
        by_key
            .entry(&owner.key)
            .or_default()
            .push((&owner.file, &owner.value));
    }
    for (key, setters) in by_key {
        let differ = setters.iter().any(|(_, value)| *value != setters[0].1);
        if !differ {
            continue;
        }
        let said: Vec<String> = setters
            .iter()
            .map(|(file, value)| format!("{file} = {value}"))
            .collect();
        let runs = case
            .facts
            .sysctl
            .get(key)
            .map(|value| format!("; {value} runs now"))
            .unwrap_or_default();
        let finding = report.find(
            key,
            format!("{}{runs}", said.join(", ")),
            "one file sets it",
            &ONE,
        );
        finding.effect = Effect::Reboot;
        finding
            .advice
            .push("Keep one of these lines, remove the others.".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn two_values_for_one_key_are_a_quarrel() {
        let host = Host::new(1, 2).owner("/etc/sysctl.d/a.conf", "net.core.rmem_max", "1");
        host.none("rival-owner");
        host.clone()
            .owner("/etc/sysctl.d/b.conf", "net.core.rmem_max", "1")
            .none("rival-owner");
        let finding = host
            .owner("/usr/lib/tuned/x/tuned.conf", "net.core.rmem_max", "2")
            .one("rival-owner");
        assert!(finding.is.contains("a.conf = 1") && finding.is.contains("tuned.conf = 2"));
    }
}
