//! Who else sets what a finding would change.

use nicety_model::HostFacts;
use nicety_model::facts::OwnerKind;
use nicety_model::finding::Finding;
use nicety_model::knob::{Change, Knob};

use crate::persist::link;

/// Names, for each change, the files and services that set the same.
pub(crate) fn add_conflicts(facts: &HostFacts, findings: &mut [Finding]) {
    for finding in findings {
        let mut conflicts: Vec<String> = finding
            .changes
            .iter()
            .flat_map(|change| owners_of(facts, change))
            .collect();
        conflicts.sort();
        conflicts.dedup();
        finding.conflicts.extend(conflicts);
    }
}

fn owners_of(facts: &HostFacts, change: &Change) -> Vec<String> {
    let mut owners = Vec::new();
    for owner in &facts.owners {
        let same = match &change.knob {
            Knob::Sysctl { name } => owner.key == *name,
            Knob::SysFile { path } => {
                let parameter = owner.key.replacen('.', "/parameters/", 1);
                owner.kind == OwnerKind::Modprobe && *path == format!("module/{parameter}")
            }
            knob => {
                let key = link::key(knob).map(|(_, key)| format!("Link.{key}"));
                owner.kind == OwnerKind::Link && key.as_deref() == Some(&owner.key)
            }
        };
        if same {
            owners.push(format!(
                "{} sets {} = {}",
                owner.file, owner.key, owner.value
            ));
        }
    }
    if matches!(change.knob, Knob::IrqAffinity { .. }) && facts.services.irqbalance {
        owners.push("irqbalance moves interrupts every 10 s unless told to leave them".to_owned());
    }
    owners
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{Owner, OwnerKind};

    use crate::fixture::Host;

    #[test]
    fn whoever_sets_the_same_is_named() {
        let dropping = || {
            let nic = Host::new(1, 4).nic("eth0", 10_000, 0).ring(512, 4096);
            nic.window(5.0, |window| {
                let moved = [("rx_missed_errors".to_owned(), 9)].into();
                window.counters.insert("eth0".to_owned(), moved);
            })
        };
        let link = |key: &str| {
            let owner = Owner {
                kind: OwnerKind::Link,
                file: "/etc/systemd/network/10-x.link".to_owned(),
                key: key.to_owned(),
                value: "512".to_owned(),
            };
            dropping().facts_with(|facts| facts.owners.push(owner))
        };
        assert_eq!(
            link("Link.RxBufferSize").one("ring").conflicts,
            ["/etc/systemd/network/10-x.link sets Link.RxBufferSize = 512"]
        );
        assert!(link("Link.MTUBytes").one("ring").conflicts.is_empty());
        assert!(dropping().one("ring").conflicts.is_empty());
    }
}
