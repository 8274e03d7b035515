//! A host's part in a cluster, as `state.json` and `nicety police status --json` have it.

use nicety_model::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::HostState;

/// A host's part in a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterPart {
    /// Its name there.
    pub host: String,
    /// Where the cluster's keys are in etcd.
    pub prefix: String,
    /// The endpoint that it speaks to, or spoke to last; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub endpoint: Option<String>,
    /// Where its limits come from.
    pub stands: ClusterStands,
    /// It leads: it decides for all hosts.
    pub leads: bool,
    /// Number of the grant that it holds; 0 for none.
    pub grant: u64,
    /// Seconds since it sent the last renewal of its lease that etcd answered; absent without a lease.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub heard_s: Option<f64>,
    /// Seconds until it falls back to its safe shares when it hears nothing more; absent when it has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holds_s: Option<f64>,
    /// Connections to etcd after the first.
    pub reconnects: u64,
    /// Times that it was elected.
    pub elections: u64,
    /// Times that it fell back to its safe shares.
    pub fallbacks: u64,
    /// Keys below the prefix that cannot be read.
    pub unreadable: usize,
    /// A guard would lower the ports if the daemon stood still.
    pub guarded: bool,
    /// What keeps it from etcd now; absent for nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trouble: Option<String>,
    /// Its tenants that have a total.
    pub tenants: Vec<ClusterTenant>,
}

/// Where a host's limits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterStands {
    /// From the leader's grant.
    Granted,
    /// It has a lease, and waits for its first grant: safe shares.
    Waiting,
    /// It hears nobody: safe shares.
    Alone,
}

impl From<HostState> for ClusterStands {
    fn from(state: HostState) -> Self {
        match state {
            HostState::Granted => Self::Granted,
            HostState::Waiting => Self::Waiting,
            HostState::Alone => Self::Alone,
        }
    }
}

/// What a host may send of a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterTenant {
    /// Name.
    pub tenant: String,
    /// What the host has last said that it wants; absent when only the grant holds it.
    #[serde(
        rename = "demand_bps",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub demand: Option<BitRate>,
    /// At most, now.
    #[serde(rename = "max_bps")]
    pub max: BitRate,
    /// In any case, now.
    #[serde(rename = "guarantee_bps")]
    pub guarantee: BitRate,
    /// At most when it hears nobody.
    #[serde(rename = "safe_bps")]
    pub safe: BitRate,
    /// At most on all hosts together, as the policy says.
    #[serde(rename = "total_max_bps")]
    pub total_max: BitRate,
}
