//! A host's part in a cluster, as `state.json` and `nicety police status --json` have it.

use std::collections::BTreeSet;

use nicety_model::{BitRate, SCHEMA};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::view::HostView;
use crate::cluster::{HostState, View};

/// A host's part in a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterState {
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

/// What `nicety police status --cluster --json` prints: all hosts, as etcd has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterReport {
    /// Schema version.
    pub schema: u32,
    /// Where the cluster's keys are in etcd.
    pub prefix: String,
    /// The host that leads; absent when none does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leader: Option<String>,
    /// Every tenant of every host.
    pub rows: Vec<ClusterRow>,
    /// Keys below the prefix that cannot be read.
    pub unreadable: Vec<String>,
}

/// A tenant of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterRow {
    /// Name of the tenant.
    pub tenant: String,
    /// The host.
    pub host: String,
    /// What the host's limits come from, as far as etcd knows.
    pub holds: ClusterHolds,
    /// What it sent in its last report; absent without one.
    #[serde(rename = "use_bps", skip_serializing_if = "Option::is_none", default)]
    pub used: Option<BitRate>,
    /// What it would send; absent when its grant holds it, or without a report.
    #[serde(
        rename = "demand_bps",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub demand: Option<BitRate>,
    /// What it was granted at most; absent without a grant.
    #[serde(rename = "max_bps", skip_serializing_if = "Option::is_none", default)]
    pub max: Option<BitRate>,
    /// What of it is guaranteed.
    #[serde(
        rename = "guarantee_bps",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub guarantee: Option<BitRate>,
    /// What it may send when it hears nobody.
    #[serde(rename = "safe_bps", skip_serializing_if = "Option::is_none", default)]
    pub safe: Option<BitRate>,
    /// At most on all hosts together, as this host's policy says; absent for a host that is lost.
    #[serde(
        rename = "total_max_bps",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub total_max: Option<BitRate>,
}

/// What a host's limits come from, as far as etcd knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterHolds {
    /// The grant: the host has acknowledged it.
    Grant,
    /// An earlier grant: the host has not acknowledged the last one yet.
    EarlierGrant,
    /// Safe shares: the host waits for its first grant.
    Waiting,
    /// Safe shares: its lease has ended.
    Lost,
}

impl ClusterReport {
    /// What etcd has.
    pub fn of(view: &View, prefix: &str) -> Self {
        let mut rows: Vec<ClusterRow> = Vec::new();
        for (name, host) in view.hosts() {
            rows.extend(host_rows(name, host));
        }
        rows.sort_by(|a, b| (&a.tenant, &a.host).cmp(&(&b.tenant, &b.host)));
        let leader = view.leaders().flatten().next();
        Self {
            schema: SCHEMA,
            prefix: prefix.to_owned(),
            leader: leader.map(|leader| leader.host.clone()),
            rows,
            unreadable: view.garbage().keys().cloned().collect(),
        }
    }
}

fn host_rows(name: &str, host: &HostView) -> Vec<ClusterRow> {
    let holds = match (host.lease(), host.grant(), host.acknowledged()) {
        (None, ..) => ClusterHolds::Lost,
        (Some(_), None, _) => ClusterHolds::Waiting,
        (Some(_), Some(_), true) => ClusterHolds::Grant,
        (Some(_), Some(_), false) => ClusterHolds::EarlierGrant,
    };
    let record = host.grant.as_ref().and_then(Option::as_ref);
    let member = host.member();
    let of_member = member.iter().flat_map(|member| member.tenants.keys());
    let of_record = record.iter().flat_map(|record| record.tenants.keys());
    let tenants: BTreeSet<&String> = of_member.chain(of_record).collect();
    let row = |tenant: &String| {
        let grant = record.and_then(|record| record.tenants.get(tenant));
        let usage = host.report().and_then(|report| report.tenants.get(tenant));
        // What counts for a host that is lost is its safe share alone.
        let alive = grant.filter(|_| holds != ClusterHolds::Lost);
        ClusterRow {
            tenant: tenant.clone(),
            host: name.to_owned(),
            holds,
            used: usage.map(|usage| usage.used),
            demand: usage.and_then(|usage| usage.demand),
            max: alive.map(|grant| grant.max),
            guarantee: alive.map(|grant| grant.guarantee),
            safe: grant.map(|grant| grant.safe),
            total_max: member.and_then(|member| Some(member.tenants.get(tenant)?.max)),
        }
    };
    tenants.into_iter().map(row).collect()
}
