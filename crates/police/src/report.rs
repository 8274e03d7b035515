//! Output of `nicety police --json`, and the daemon's state file.

mod cluster;

use nicety_model::journal::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::controller::Decision;
use crate::explain::Explanation;
use crate::policy::PortName;

pub use cluster::{ClusterPart, ClusterStands, ClusterTenant};

/// What `nicety police status --json` prints: the daemon's `state.json`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// Schema version.
    pub schema: u32,
    /// What the host is called; absent when it is not to be published.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// The daemon's process.
    pub pid: u32,
    /// When the process was started, in ticks since boot: its number may be another's later.
    #[serde(default)]
    pub born_ticks: u64,
    /// Inode of the daemon's network namespace.
    pub netns: u64,
    /// File of the policy.
    pub policy: String,
    /// Length of a period.
    pub period_s: f64,
    /// Rate of the shared link.
    pub capacity_bps: f64,
    /// Periods since the start.
    pub periods: u64,
    /// When this was written, in seconds since boot.
    pub written_s: f64,
    /// Limits written since the start.
    pub writes: u64,
    /// Limits that could not be written, or what was found before not noted, and periods that failed,
    /// since the start.
    pub errors: u64,
    /// Policies taken and refused while it runs.
    #[serde(default)]
    pub reloads: Reloads,
    /// Who was asked for the names of ports, where the policy has any. One that tells this can be told to look again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub names: Option<Vec<NameSource>>,
    /// The host's part in a cluster; absent where the policy names none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cluster: Option<ClusterPart>,
    /// The tenants, in the order of the policy.
    pub tenants: Vec<Explanation>,
    /// What the last period has decided.
    pub decision: Decision,
    /// The same of what tenants receive; absent where the policy limits nothing of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub received: Option<ReceivedState>,
    /// Packets that tenants send, and may; absent where the policy limits none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packets: Option<PacketsState>,
}

/// Packets of tenants and ports in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketsState {
    /// The tenants whose packets are limited, in the order of the policy.
    pub tenants: Vec<PacketsTenant>,
    /// Their ports.
    pub ports: Vec<PacketsPort>,
}

/// Packets of a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketsTenant {
    /// Its name.
    pub tenant: String,
    /// Its limit in the policy in packets a second; absent where it only shares those of the host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_pps: Option<u64>,
    /// What its ports send together, in packets a second.
    pub rate_pps: f64,
    /// What they may send together, in packets a second.
    pub limit_pps: f64,
}

/// Packets of a port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketsPort {
    /// The port.
    pub port: String,
    /// What it sends in packets a second; absent when the period brought no number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_pps: Option<f64>,
    /// Its limit in packets a second; absent when it is not there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_pps: Option<u64>,
}

/// What tenants receive, and may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedState {
    /// The tenants of which that is limited, in the order of the policy; rates and limits are of what they receive.
    pub tenants: Vec<Explanation>,
    /// The hard limit of each of these in bits per second: the link where the policy says nothing.
    pub hard_bps: Vec<f64>,
    /// How often the limit of each port below was found gone or changed since the start.
    pub lost: Vec<u64>,
    /// What the last period has decided. Ports are those that are limited; tenants are all of the policy.
    pub decision: Decision,
    /// Packets that are received, and may be; absent where the policy limits none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packets: Option<PacketsState>,
}

/// Somebody who knows names of ports: libvirt, Open vSwitch, Proxmox, PCI, CNI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NameSource {
    /// Who.
    pub source: String,
    /// Age of the last answer in seconds; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub heard_s: Option<f64>,
    /// Why the last question had no answer; absent when it had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trouble: Option<String>,
}

/// What became of the times the policy was to be read again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reloads {
    /// Policies taken.
    pub taken: u64,
    /// Policies refused.
    pub refused: u64,
    /// Why the last one was refused; none when it was taken.
    pub why: Option<String>,
}

/// What `nicety police reload --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadReport {
    /// Schema version.
    pub schema: u32,
    /// File of the policy.
    pub policy: String,
    /// The daemon has taken it; else the old one goes on.
    pub taken: bool,
    /// Why it was refused; absent when it was taken.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// Tenants of the policy that is in force now.
    pub tenants: usize,
}

/// What `nicety police restore --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreReport {
    /// Schema version.
    pub schema: u32,
    /// The ports that a killed daemon had changed; empty when there was nothing to put back.
    pub ports: Vec<PortBack>,
}

/// A port that was to get back what was found there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PortBack {
    /// Interface or function: `tap0`, `eth0/vf3`.
    pub port: String,
    /// The limit that was found there, in the words of its setting.
    pub value: String,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A line of `nicety police run --dry-run --json`: one period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DryPeriod {
    /// Schema version.
    pub schema: u32,
    /// Number of the period, from 1.
    pub period: u64,
    /// Rate of the shared link.
    pub capacity_bps: f64,
    /// Rate of all ports together in bits per second on the wire.
    pub total_bps: f64,
    /// The ports, in the order of the policy.
    pub ports: Vec<DryPort>,
}

/// A port in such a period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DryPort {
    /// The port.
    #[schemars(with = "String")]
    pub port: PortName,
    /// Its tenant.
    pub tenant: String,
    /// It is there, and can be limited.
    pub present: bool,
    /// Rate on the wire in bits per second; absent when the period brought none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_bps: Option<f64>,
    /// The limit that it has in bits per second; absent when it has none, or is not there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_bps: Option<f64>,
    /// The limit that it would get in bits per second; absent when it is not there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would_be_bps: Option<f64>,
    /// Packets a second that it would be limited to; absent where the policy limits none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would_be_pps: Option<u64>,
    /// The same of what its owner receives; absent where the policy limits nothing of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receives: Option<DryReceived>,
}

/// What the owner of a port receives in such a period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DryReceived {
    /// Rate on the wire in bits per second; absent when the period brought none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_bps: Option<f64>,
    /// The limit that there is in bits per second; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_bps: Option<f64>,
    /// The limit that there would be in bits per second; absent when the port is not there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would_be_bps: Option<f64>,
    /// Packets a second that there would be at most; absent where the policy limits none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would_be_pps: Option<u64>,
}
