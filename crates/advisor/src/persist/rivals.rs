//! Files of others that set what is kept.

use nicety_model::HostFacts;
use nicety_model::facts::{Owner, OwnerKind};
use nicety_model::kept::Kept;
use nicety_model::knob::Knob;

use super::files::module_parameter;
use super::link;

/// Name of the file of sysctls.
const OURS: &str = "99-nicety.conf";

/// One line for each file that sets a kept setting to something else, and who wins.
pub fn rivals(facts: &HostFacts, kept: &Kept) -> Vec<String> {
    let mut conflicts = Vec::new();
    for (knob, value) in kept.knobs() {
        for owner in &facts.owners {
            let name = owner.file.rsplit('/').next().unwrap_or_default();
            let same = owner
                .sets(value)
                .is_none_or(|set| words(set) == words(value));
            if same || name.contains("nicety") || owner.file.contains("/nicety/") {
                continue;
            }
            if let Some(outcome) = outcome(knob, owner, name) {
                conflicts.push(format!(
                    "{} sets {} = {}: {outcome}",
                    owner.file, owner.key, owner.value
                ));
            }
        }
    }
    conflicts.sort_by_key(|line| line.contains(".link"));
    conflicts.dedup();
    conflicts
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// What comes of it, when both set the same.
fn outcome(knob: &Knob, owner: &Owner, name: &str) -> Option<String> {
    match (owner.kind, knob) {
        (OwnerKind::Sysctl, Knob::Sysctl { name: key }) if *key == owner.key => {
            Some(match owner.file.as_str() {
                "/etc/sysctl.conf" => {
                    format!("it may be read after {OURS}; remove the line there")
                }
                _ if name > OURS => {
                    format!("it is read after {OURS} and wins; remove the line there")
                }
                _ => format!("{OURS} is read later and wins"),
            })
        }
        (OwnerKind::Tuned, Knob::Sysctl { name: key }) if *key == owner.key => Some(
            "tuned sets it again at every start; change the profile, or use --format tuned"
                .to_owned(),
        ),
        (OwnerKind::Modprobe, _) => {
            let (module, parameter) = module_parameter(knob)?;
            (owner.key == format!("{module}.{parameter}")).then(|| {
                "the module decides which of two equal options counts; remove it there".to_owned()
            })
        }
        (OwnerKind::Link, _) => {
            let (interface, key) = link::key(knob)?;
            (owner.key == format!("Link.{key}")).then(|| {
                format!(
                    "for {interface}, 10-nicety-{interface}.link comes first and replaces all of it"
                )
            })
        }
        _ => None,
    }
}
