//! Two that set the same (T33).

use std::collections::BTreeMap;

use nicety_model::facts::OwnerKind;
use nicety_model::finding::{Certainty, Effect, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};

const ONE: Reason = Reason {
    why: "Which value holds depends on who wrote last: after a boot, a restart of a service or a \
          package update it is the other one.",
    source: "sysctl.d(5): the last file by name wins; github.com/NVIDIA/nodewright-packages pull \
             109: tuned loses to sysctl.d with reapply_sysctl",
    cost: "None.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
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
            .map(|value| format!("; {value} runs"))
            .unwrap_or_default();
        let finding = report.find(key, format!("{}{runs}", said.join(", ")), "one owner", &ONE);
        finding.effect = Effect::Reboot;
        finding
            .advice
            .push("keep one of these lines and remove the others".to_owned());
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
