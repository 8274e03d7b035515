//! Two that set the same (T33).

use std::collections::BTreeMap;

use nicety_model::facts::{Owner, OwnerKind};
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
    let mut by_key: BTreeMap<&str, Vec<&Owner>> = BTreeMap::new();
    let owners = case.facts.owners.iter();
    let setters = owners.filter(|owner| matches!(owner.kind, OwnerKind::Sysctl | OwnerKind::Tuned));
    for owner in setters {
        by_key.entry(&owner.key).or_default().push(owner);
    }
    for (key, setters) in by_key {
        // Bounds alone do not quarrel, and one that the others keep to does not either.
        let Some(first) = setters.iter().find(|owner| !owner.is_bound()) else {
            continue;
        };
        let differs = |owner: &&Owner| {
            owner
                .sets(&first.value)
                .is_some_and(|value| value != first.value)
        };
        if !setters.iter().any(differs) {
            continue;
        }
        let said: Vec<String> = setters
            .iter()
            .map(|owner| format!("{} = {}", owner.file, owner.value))
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
    use nicety_model::facts::OwnerKind;

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

    #[test]
    fn a_bound_quarrels_with_what_lies_beyond_it() {
        let bound = |value| {
            let host = Host::new(1, 2).owner("/etc/sysctl.d/a.conf", "net.core.rmem_max", "100");
            let host = host.owner("/etc/tuned/x/tuned.conf", "net.core.rmem_max", value);
            host.facts_with(|facts| facts.owners[1].kind = OwnerKind::Tuned)
        };
        bound(">50").none("rival-owner");
        bound(">100").none("rival-owner");
        bound("<100").none("rival-owner");
        bound(">500").one("rival-owner");
        bound("<50").one("rival-owner");
    }
}
