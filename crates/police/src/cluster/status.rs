//! The cluster as people look at it: tenants and hosts, who holds what and why.

use std::collections::BTreeMap;
use std::fmt;

use nicety_model::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::charge::charge;
use super::totals::agreed;
use super::view::{HostView, View};
use crate::explain::readable;

/// Version of [`ClusterState`].
pub const STATE_SCHEMA: u32 = 1;

/// What `nicety police status --cluster` shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterState {
    /// Schema version.
    pub schema: u32,
    /// Revision of the store that it shows.
    pub revision: i64,
    /// Who leads; absent when nobody does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leader: Option<String>,
    /// Tenants, by name.
    pub tenants: Vec<TenantState>,
    /// Keys below the prefix that cannot be read, with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub unreadable: BTreeMap<String, String>,
}

/// One tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantState {
    /// Name.
    pub tenant: String,
    /// Most that all hosts may send together, in bits per second; absent when no living host has the
    /// tenant.
    #[serde(rename = "max_bps", skip_serializing_if = "Option::is_none", default)]
    pub max: Option<BitRate>,
    /// What it gets in any case where it has the demand.
    #[serde(
        rename = "guarantee_bps",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub guarantee: Option<BitRate>,
    /// What the hosts may send together now, at most.
    #[serde(rename = "held_bps")]
    pub held: BitRate,
    /// What they send together.
    #[serde(rename = "use_bps")]
    pub used: BitRate,
    /// Its hosts, by name.
    pub hosts: Vec<Holding>,
}

/// What one host holds of a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Holding {
    /// Host.
    pub host: String,
    /// Why it holds that.
    pub why: Why,
    /// Its grant in bits per second, or its safe share when its lease has ended.
    #[serde(rename = "grant_bps")]
    pub grant: BitRate,
    /// The most that it may send now: more than the grant until it has acknowledged that.
    #[serde(rename = "held_bps")]
    pub held: BitRate,
    /// What it keeps when it hears nobody.
    #[serde(rename = "safe_bps")]
    pub safe: BitRate,
    /// What it sends; absent without a report.
    #[serde(rename = "use_bps", skip_serializing_if = "Option::is_none", default)]
    pub used: Option<BitRate>,
    /// What it would send; absent without a report, and when its grant holds it.
    #[serde(
        rename = "demand_bps",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub demand: Option<BitRate>,
}

/// Why a host holds what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Its grant is in force, and more than it wants.
    Demand,
    /// Its grant is in force, and it wants more: the total is shared with other hosts.
    Shared,
    /// It has not said yet that it holds its last grant.
    Unconfirmed,
    /// It has a lease, and no grant yet.
    Waiting,
    /// Its lease has ended: it holds its safe share, and the others have the rest.
    Lost,
    /// Its record cannot be read, so nobody is given more.
    Unreadable,
}

impl ClusterState {
    /// From what is in the store.
    pub fn of(view: &View) -> Self {
        let (totals, _) = agreed(view);
        let mut tenants: BTreeMap<&str, Vec<Holding>> = BTreeMap::new();
        for tenant in totals.keys() {
            tenants.insert(tenant, Vec::new());
        }
        for (name, host) in view.hosts() {
            let record = host.grant.as_ref().and_then(Option::as_ref);
            let of_record = record.iter().flat_map(|record| record.tenants.keys());
            let member = host.member().into_iter();
            let mut of: Vec<&String> = (member.flat_map(|member| member.tenants.keys()))
                .chain(of_record)
                .collect();
            of.sort();
            of.dedup();
            for tenant in of {
                let holding = holding(name, host, tenant);
                tenants.entry(tenant).or_default().push(holding);
            }
        }
        let sum = |rates: &mut dyn Iterator<Item = BitRate>| {
            BitRate(rates.fold(0, |sum, rate| rate.0.saturating_add(sum)))
        };
        let tenants = tenants.into_iter().map(|(tenant, hosts)| TenantState {
            tenant: tenant.to_owned(),
            max: totals.get(tenant).map(|of| BitRate(of.max)),
            guarantee: totals.get(tenant).map(|of| BitRate(of.guarantee)),
            held: sum(&mut hosts.iter().map(|host| host.held)),
            used: sum(&mut hosts.iter().filter_map(|host| host.used)),
            hosts,
        });
        let garbage = view.garbage().iter();
        Self {
            schema: STATE_SCHEMA,
            revision: view.revision(),
            leader: view.leaders().flatten().next().map(|of| of.host.clone()),
            tenants: tenants.collect(),
            unreadable: (garbage.map(|(key, why)| (key.clone(), why.to_string()))).collect(),
        }
    }
}

fn holding(name: &str, host: &HostView, tenant: &str) -> Holding {
    let usage = host.report().and_then(|report| report.tenants.get(tenant));
    let record = host.grant.as_ref();
    let grant = record.and_then(Option::as_ref);
    let grant = grant.and_then(|grant| grant.tenants.get(tenant)).copied();
    let grant = grant.unwrap_or_default();
    let demand = usage.and_then(|usage| usage.demand);
    let why = match (record, host.lease(), host.grant()) {
        (Some(None), _, _) => Why::Unreadable,
        (_, None, _) => Why::Lost,
        (_, Some(_), None) => Why::Waiting,
        _ if !host.acknowledged() => Why::Unconfirmed,
        _ => {
            if demand.is_some_and(|demand| demand <= grant.max) {
                Why::Demand
            } else {
                Why::Shared
            }
        }
    };
    let held = charge(host, tenant).unwrap_or_default();
    Holding {
        host: name.to_owned(),
        why,
        grant: match why {
            Why::Lost | Why::Waiting => BitRate(held.now),
            _ => grant.max,
        },
        held: BitRate(held.now),
        safe: grant.safe,
        used: usage.map(|usage| usage.used),
        demand,
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |rate: BitRate| readable(rate.bps());
        let (host, grant) = (&self.host, rate(self.grant));
        match self.why {
            Why::Demand => write!(f, "{host} may send {grant}, more than it wants"),
            Why::Shared => write!(
                f,
                "{host} may send {grant} and wants more; the other hosts have the rest"
            ),
            Why::Unconfirmed => write!(
                f,
                "{host} is to send at most {grant}; until it confirms that, {} count",
                rate(self.held)
            ),
            Why::Waiting => write!(f, "{host} waits for its first grant with {grant}"),
            Why::Lost => write!(f, "{host} is not heard and keeps its safe share of {grant}"),
            Why::Unreadable => write!(
                f,
                "the grant of {host} cannot be read, so no host is given more; stop {host}, then run \
                 nicety police forget {host}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::leader::Leader;
    use crate::cluster::view::{Change, Changes};
    use crate::cluster::wire::{Member, SCHEMA, Total, Wire};

    #[test]
    fn every_host_of_a_tenant_says_what_it_holds_and_why() {
        let total = Total {
            max: BitRate::from_mbit(1000),
            guarantee: BitRate::from_mbit(200),
            weight: 1,
        };
        let member = Member {
            schema: SCHEMA,
            machine: "m".to_owned(),
            hosts: None,
            safe_share: None,
            tenants: BTreeMap::from([("blue".to_owned(), total)]),
        };
        let put = |key: &str, value: Vec<u8>, lease| Change::Put {
            key: key.to_owned(),
            value,
            lease,
        };
        let mut view = View::default();
        let hosts = ["a", "b"].into_iter().zip(1..);
        let members =
            hosts.map(|(host, lease)| put(&format!("member/{host}"), member.encode(), lease));
        view.take(&Changes {
            revision: 1,
            all: true,
            changes: members.collect(),
        });
        let lines = |view: &View| -> Vec<String> {
            let state = ClusterState::of(view);
            let hosts = state.tenants.iter().flat_map(|tenant| &tenant.hosts);
            hosts.map(ToString::to_string).collect()
        };
        assert_eq!(lines(&view)[0], "a waits for its first grant with 0 kbit/s");
        let (batches, _) = Leader::default().step(&view);
        let grants = batches.iter().flat_map(|batch| &batch.grants);
        let grants = grants.map(|(host, grant)| put(&format!("grant/{host}"), grant.encode(), 0));
        let gone = Change::Gone {
            key: "member/b".to_owned(),
        };
        let bad = put("grant/c", b"?".to_vec(), 0);
        view.take(&Changes {
            revision: 2,
            all: false,
            changes: grants.chain([gone, bad]).collect(),
        });
        assert_eq!(
            lines(&view),
            [
                "a is to send at most 500.0 Mbit/s; until it confirms that, 500.0 Mbit/s count",
                "b is not heard and keeps its safe share of 200.0 Mbit/s",
            ]
        );
        let state = ClusterState::of(&view);
        assert_eq!(state.tenants[0].held, BitRate::from_mbit(700));
        assert_eq!(state.unreadable.keys().collect::<Vec<_>>(), ["grant/c"]);
    }
}
