//! Settings that are kept for the next boot, under names that outlive this one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::knob::Knob;

/// Folders below the root of profiles that an administrator writes for tuned: since 2.23, and before
/// (`USER_PROFILES_DIR` in tuned/consts.py).
pub const TUNED_PROFILES: [&str; 2] = ["etc/tuned/profiles", "etc/tuned"];
/// The same of those that come with packages (`SYSTEM_PROFILES_DIR`); the administrator's hide them.
pub const TUNED_SYSTEM_PROFILES: [&str; 2] = ["usr/lib/tuned/profiles", "usr/lib/tuned"];

/// What a setting is about. Numbers of interrupts and threads change with every boot, so these
/// are named otherwise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Target {
    /// A setting that keeps its name.
    Setting {
        /// The setting.
        knob: Knob,
    },
    /// CPUs of an interrupt.
    Interrupt {
        /// Interface it belongs to.
        interface: String,
        /// Name of its handler: `eth0-TxRx-3`.
        name: String,
    },
    /// CPUs of a virtual CPU.
    VirtualCpu {
        /// Virtual machine.
        vm: String,
        /// Number, from 0.
        index: u32,
    },
    /// CPUs of the threads that move a virtual machine's frames.
    VhostThread {
        /// Virtual machine.
        vm: String,
        /// Number, from 0.
        index: u32,
    },
}

/// A setting and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeptSetting {
    /// What.
    pub target: Target,
    /// Value it is to have.
    pub value: String,
}

/// Everything that is kept: `/etc/nicety/tune.json`, which the boot unit reads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Schema version.
    pub schema: u32,
    /// Settings, each once.
    pub settings: Vec<KeptSetting>,
    /// Modules to be loaded.
    #[serde(default)]
    pub modules: Vec<String>,
}

impl Kept {
    /// Adds what is newer; of equal names the newer value counts.
    pub fn merge(&mut self, newer: Self) {
        self.schema = self.schema.max(newer.schema);
        for setting in newer.settings {
            self.settings.retain(|old| old.target != setting.target);
            self.settings.push(setting);
        }
        self.modules.extend(newer.modules);
        self.modules.sort();
        self.modules.dedup();
        self.settings.sort_by(|a, b| a.target.cmp(&b.target));
    }

    /// Settings that keep their names, with their values.
    pub fn knobs(&self) -> impl Iterator<Item = (&Knob, &str)> {
        self.settings
            .iter()
            .filter_map(|setting| match &setting.target {
                Target::Setting { knob } => Some((knob, setting.value.as_str())),
                _ => None,
            })
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.modules.is_empty()
    }
}

/// What `nicety tune persist` did.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PersistReport {
    /// Schema version.
    pub schema: u32,
    /// The transaction that undoes it; absent when every file was right already.
    pub transaction: Option<u32>,
    /// Files that were written.
    pub written: Vec<String>,
    /// Files that were removed.
    pub removed: Vec<String>,
    /// Other files that set the same, and which one wins.
    pub owners: Vec<String>,
    /// What a person has to do: boot parameters, domains' XML, restarts.
    pub by_hand: Vec<String>,
    /// What cannot be kept, and why.
    pub left: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(values: &[(&str, &str)]) -> Kept {
        let setting = |(name, value): &(&str, &str)| KeptSetting {
            target: Target::Setting {
                knob: Knob::sysctl(name),
            },
            value: (*value).to_owned(),
        };
        Kept {
            schema: 1,
            settings: values.iter().map(setting).collect(),
            modules: vec!["vhost_net".to_owned()],
        }
    }

    #[test]
    fn newer_values_replace_older_ones() {
        let mut all = kept(&[("a", "1"), ("b", "2")]);
        all.merge(kept(&[("b", "3"), ("c", "4")]));
        assert_eq!(all, kept(&[("a", "1"), ("b", "3"), ("c", "4")]));
        assert!(!all.is_empty());
        assert!(Kept::default().is_empty());
    }
}
