//! Who else sets what a finding would change.

use nicety_model::HostFacts;
use nicety_model::facts::OwnerKind;
use nicety_model::finding::Finding;
use nicety_model::knob::{Change, Knob};

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
            Knob::Mtu { .. } => owner.kind == OwnerKind::Link && owner.key == "Link.MTUBytes",
            Knob::SysFile { path } => {
                let parameter = owner.key.replacen('.', "/parameters/", 1);
                owner.kind == OwnerKind::Modprobe && *path == format!("module/{parameter}")
            }
            _ => false,
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
