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
