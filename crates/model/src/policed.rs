//! Record of a shared link, period by period: what each tenant wanted, sent and might send.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::note::Note;
use crate::run::Fingerprint;

/// `police.json`: what a recorded run of the police shared, and among whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedHead {
    /// Schema version.
    pub schema: u32,
    /// Name of the policy's file.
    pub policy: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Command line to repeat the run.
    pub command: String,
    /// Length of a control period in seconds.
    pub period_s: f64,
    /// Rate of the shared link in bits per second, preamble and gap included.
    pub capacity_bps: f64,
    /// Shared rate: the capacity without its head-room.
    pub shared_bps: f64,
    /// The tenants, in the order of the policy.
    pub tenants: Vec<PolicedTenant>,
    /// The ports, in the order of the policy.
    pub ports: Vec<PolicedPort>,
}

/// The tenants.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedTenant {
    /// Name.
    pub name: String,
    /// Share of what is not guaranteed, relative to the others'.
    pub weight: f64,
    /// Guarantee in bits per second, given when it has the demand; 0 for none.
    pub guarantee_bps: f64,
    /// Hard limit in bits per second; absent when that is the link.
    pub cap_bps: Option<f64>,
}

/// Where a tenant sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedPort {
    /// Name, as in the policy.
    pub name: String,
    /// Place of its tenant among the tenants.
    pub tenant: usize,
}

/// A line of `periods.jsonl`. All rates are bits per second on the wire.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedPeriod {
    /// Schema version.
    pub schema: u32,
    /// End of the period in seconds since the start of the record.
    pub at_s: f64,
    /// Rate of all ports together.
    pub total_bps: f64,
    /// What a weight of one gets; absent when the link is not full.
    pub level_bps: Option<f64>,
    /// The host's part in a cluster; absent where the policy names none, and in older records.
    pub cluster: Option<PolicedCluster>,
    /// The tenants, in the order of the head.
    pub tenants: Vec<PolicedRates>,
    /// The ports, in the order of the head.
    pub ports: Vec<PolicedPortRates>,
}

/// A tenant in one period.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedRates {
    /// Rate that its ports sent.
    pub rate_bps: f64,
    /// What it wants; absent when that is as much as it gets.
    pub demand_bps: Option<f64>,
    /// The host's limit: the cap, else the link.
    pub hard_bps: f64,
    /// The limit that its guest has set itself; absent when it has none.
    pub soft_bps: Option<f64>,
    /// Rate that its ports may send together from now on.
    pub limit_bps: f64,
    /// What it has saved to send above `hard_bps`, in bits; absent where the policy gives it no burst credit.
    pub credit_bits: Option<f64>,
    /// What the cluster gives this host of it; absent for a tenant without `total_max`.
    pub granted: Option<PolicedGrant>,
    /// Packets that it sends; absent where these are not limited, and in older records.
    pub packets: Option<PolicedPackets>,
    /// What it receives; absent where that is not limited, and in older records.
    pub received: Option<PolicedReceived>,
}

/// Packets of a tenant in one period and direction.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedPackets {
    /// Packets a second.
    pub rate_pps: f64,
    /// Packets a second from now on, at most.
    pub limit_pps: f64,
    /// The limit of the policy in packets a second; absent where it only shares those of the host.
    pub max_pps: Option<f64>,
}

/// What a tenant receives in one period.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedReceived {
    /// Rate that came to its ports.
    pub rate_bps: f64,
    /// What would come; absent when that is as much as is let through.
    pub demand_bps: Option<f64>,
    /// The host's limit: `rx_max`, else the link.
    pub hard_bps: f64,
    /// Rate that may come to its ports together from now on.
    pub limit_bps: f64,
    /// What it has saved to receive above `hard_bps`, in bits; absent where the policy gives it no burst credit.
    pub credit_bits: Option<f64>,
    /// Packets that come; absent where these are not limited.
    pub packets: Option<PolicedPackets>,
}

/// A host's part in a cluster in one period.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedCluster {
    /// Where its limits come from.
    pub stands: PolicedStands,
    /// Number of the grant that it holds; 0 for none.
    pub grant: u64,
    /// It leads: it decides for all hosts.
    pub leads: bool,
    /// Seconds since it sent the last renewal of its lease that etcd answered; absent without a lease.
    pub heard_s: Option<f64>,
    /// Seconds until it falls back to its safe shares when it hears nothing more; absent when it has.
    pub holds_s: Option<f64>,
}

/// Where a host's limits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicedStands {
    /// From the leader's grant.
    Granted,
    /// It has a lease, and waits for its first grant: safe shares.
    Waiting,
    /// It hears nobody: safe shares.
    Alone,
}

/// A tenant's part of its total on this host in one period.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedGrant {
    /// What the host says that it wants; absent when only the grant holds it.
    pub demand_bps: Option<f64>,
    /// At most.
    pub max_bps: f64,
    /// In any case, where it has the demand.
    pub guarantee_bps: f64,
    /// At most when the host hears nobody.
    pub safe_bps: f64,
}

/// A port in one period.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedPortRates {
    /// What it sent; absent when the period brought no count.
    pub rate_bps: Option<f64>,
    /// What it wants; absent when that is as much as it gets.
    pub demand_bps: Option<f64>,
    /// The limit it is to have; 0 for none.
    pub limit_bps: f64,
    /// Whether it was there.
    pub present: bool,
    /// The interface or function that it was, where the policy has a name for it; absent where it was none, and in
    /// older records.
    pub interface: Option<String>,
}

/// A tenant over the whole record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedSummary {
    /// Tenant.
    pub tenant: String,
    /// Mean rate in bits per second.
    pub mean_bps: f64,
    /// Highest rate of a period.
    pub max_bps: f64,
    /// Lowest limit of a period.
    pub limit_min_bps: f64,
    /// Highest limit of a period.
    pub limit_max_bps: f64,
    /// Share of the periods in which it wanted more than it got.
    pub held_ratio: f64,
    /// Mean of what it received in bits per second; absent where that was not limited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub received_mean_bps: Option<f64>,
    /// Mean of the packets that it sent in a second; absent where these were not limited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_pps: Option<f64>,
    /// The same of packets that it received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub received_mean_pps: Option<f64>,
}

/// `nicety report --json` of a recorded run of the police.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Policed {
    /// Schema version.
    pub schema: u32,
    /// What was shared, and among whom.
    pub run: PolicedHead,
    /// The machine.
    pub host: Fingerprint,
    /// The tenants over the whole record, in the order of the head.
    pub summary: Vec<PolicedSummary>,
    /// What a reader should know.
    pub notes: Vec<Note>,
    /// The periods, oldest first.
    pub periods: Vec<PolicedPeriod>,
}
