//! Other programs and files that set what nicety would set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Services that change network settings by themselves; absent means not seen running.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Services {
    /// irqbalance runs.
    pub irqbalance: bool,
    /// tuned runs.
    pub tuned: bool,
    /// Profile of tuned.
    pub tuned_profile: Option<String>,
    /// tuned changes values while it runs (`dynamic_tuning`).
    pub tuned_dynamic: Option<bool>,
    /// tuned writes the files of sysctl.d again after its own values (`reapply_sysctl`).
    pub tuned_reapplies_sysctl: Option<bool>,
    /// NetworkManager runs.
    pub network_manager: bool,
    /// systemd-networkd runs.
    pub networkd: bool,
    /// dockerd runs.
    pub docker: bool,
    /// A kubelet runs.
    pub kubelet: bool,
    /// libvirt runs.
    pub libvirt: bool,
    /// ovs-vswitchd runs.
    pub open_vswitch: bool,
    /// IRQs and options irqbalance was told to leave alone (`IRQBALANCE_ARGS`, `BANNED_CPULIST`).
    pub irqbalance_options: Option<String>,
}

/// Kind of file or program that sets something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OwnerKind {
    /// A file of sysctl.d(5) or /etc/sysctl.conf.
    #[default]
    Sysctl,
    /// A profile of tuned.
    Tuned,
    /// A systemd.link(5) file.
    Link,
    /// A file of modprobe.d(5).
    Modprobe,
}

/// Something that is set at boot or by a service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Owner {
    /// Kind.
    pub kind: OwnerKind,
    /// File.
    pub file: String,
    /// What it sets: a sysctl name, `section.key` of other files.
    pub key: String,
    /// The value it sets.
    pub value: String,
}

impl Owner {
    /// What it sets while `runs` runs; `None` where it leaves that, as a bound does beside a value within it.
    pub fn sets(&self, runs: &str) -> Option<&str> {
        let Some((sign, bound)) = self.bound() else {
            return Some(&self.value);
        };
        let (limit, runs) = (
            bound.trim().parse::<i64>().ok()?,
            runs.trim().parse::<i64>().ok()?,
        );
        let beyond = if sign == '>' {
            runs < limit
        } else {
            runs > limit
        };
        beyond.then_some(bound)
    }

    /// Whether it sets a bound and no value.
    pub fn is_bound(&self) -> bool {
        self.bound().is_some()
    }

    /// Sign and number of a value of tuned: `>` means at least, `<` at most (`_process_assignment_modifiers`,
    /// tuned/plugins/base.py).
    fn bound(&self) -> Option<(char, &str)> {
        let sign = self
            .value
            .chars()
            .next()
            .filter(|sign| ['>', '<'].contains(sign))?;
        (self.kind == OwnerKind::Tuned).then(|| (sign, &self.value[1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_tuned_changes_only_what_lies_beyond_it() {
        let sets = |kind, value: &str| {
            let value = value.to_owned();
            let owner = Owner {
                kind,
                value,
                ..Owner::default()
            };
            owner.sets("100").map(str::to_owned)
        };
        for (value, set) in [
            ("50", Some("50")),
            ("4096 131072 50", Some("4096 131072 50")),
            (">50", None),
            (">500", Some("500")),
            ("<50", Some("50")),
            ("<500", None),
            ("<50 60", None),
        ] {
            assert_eq!(sets(OwnerKind::Tuned, value).as_deref(), set, "{value}");
        }
        assert_eq!(sets(OwnerKind::Sysctl, ">50").as_deref(), Some(">50"));
    }
}
