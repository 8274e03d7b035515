//! What the living hosts' policies say of the tenants, and where they differ.

use std::collections::BTreeMap;

use super::event::{ClusterEvent, PolicyKey};
use super::settings::safe_share;
use super::view::View;
use super::wire::{Member, Total};

/// What counts for a tenant: of values that differ the smaller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Agreed {
    /// Most that all hosts may send together, in bits per second.
    pub(super) max: u64,
    /// What is guaranteed over all hosts, never above `max`.
    pub(super) guarantee: u64,
    /// Share of `max / hosts` to keep, the smallest that a host says.
    pub(super) safe_share: Option<f64>,
}

/// Values that differ, and a host for each.
struct Between<'a, T> {
    low: (T, &'a str),
    high: (T, &'a str),
}

impl<'a, T: PartialOrd + Copy> Between<'a, T> {
    fn new(value: T, host: &'a str) -> Self {
        Self {
            low: (value, host),
            high: (value, host),
        }
    }

    fn add(&mut self, value: T, host: &'a str) {
        if value < self.low.0 {
            self.low = (value, host);
        }
        if value > self.high.0 {
            self.high = (value, host);
        }
    }

    fn event(&self, tenant: Option<&str>, key: PolicyKey) -> Option<ClusterEvent> {
        (self.low.0 < self.high.0).then(|| ClusterEvent::PoliciesDiffer {
            tenant: tenant.map(str::to_owned),
            key,
            host: self.low.1.to_owned(),
            other: self.high.1.to_owned(),
        })
    }
}

/// Members whose lease lives and that can be read.
pub(super) fn members(view: &View) -> impl Iterator<Item = (&str, &Member)> {
    let hosts = view.hosts().iter();
    hosts.filter_map(|(name, host)| Some((name.as_str(), host.member()?)))
}

/// What counts for each tenant of the living hosts, and what they do not agree on.
pub(super) fn agreed(view: &View) -> (BTreeMap<&str, Agreed>, Vec<ClusterEvent>) {
    struct Of<'a> {
        max: Between<'a, u64>,
        guarantee: Between<'a, u64>,
        safe: Option<f64>,
    }
    let mut tenants: BTreeMap<&str, Of<'_>> = BTreeMap::new();
    for (host, member) in members(view) {
        for (tenant, total) in &member.tenants {
            let (max, guarantee) = (total.max.0, total.guarantee.0);
            let of = tenants.entry(tenant).or_insert_with(|| Of {
                max: Between::new(max, host),
                guarantee: Between::new(guarantee, host),
                safe: member.safe_share,
            });
            of.max.add(max, host);
            of.guarantee.add(guarantee, host);
            of.safe = match (of.safe, member.safe_share) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    let mut events = Vec::new();
    let agreed = tenants.iter().map(|(tenant, of)| {
        events.extend(of.max.event(Some(tenant), PolicyKey::TotalMax));
        events.extend(of.guarantee.event(Some(tenant), PolicyKey::TotalGuarantee));
        let max = of.max.low.0;
        let counts = Agreed {
            max,
            guarantee: of.guarantee.low.0.min(max),
            safe_share: of.safe,
        };
        (*tenant, counts)
    });
    (agreed.collect(), events)
}

/// Hosts that nobody has heard of although the policy says that they exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unknown {
    /// How many.
    pub(super) count: u64,
    /// The number of hosts that the policy fixes.
    pub(super) hosts: u64,
}

/// Hosts that may start with a safe share without asking anybody, and what is odd about them.
pub(super) fn unknown(view: &View) -> (Unknown, Vec<ClusterEvent>) {
    let mut said: Option<Between<'_, u32>> = None;
    for (host, hosts) in members(view).filter_map(|(host, of)| Some((host, of.hosts?))) {
        let said = said.get_or_insert_with(|| Between::new(hosts, host));
        said.add(hosts, host);
    }
    let Some(said) = said else {
        return (Unknown::default(), Vec::new());
    };
    let mut events: Vec<ClusterEvent> = said.event(None, PolicyKey::Hosts).into_iter().collect();
    let hosts = view.hosts().values();
    let known = hosts
        .filter(|host| host.grant.is_some() || host.member().is_some())
        .count() as u32;
    // The most hosts, each with the share that the fewest give: the careful side of both.
    let (fewest, most) = (said.low.0, said.high.0);
    if known > fewest {
        events.push(ClusterEvent::TooManyHosts {
            hosts: fewest,
            known,
        });
    }
    let unknown = Unknown {
        count: u64::from(most.saturating_sub(known)),
        hosts: u64::from(fewest),
    };
    (unknown, events)
}

impl Unknown {
    /// What has to be left free for them of a tenant, in bits per second.
    pub(super) fn reserve(&self, of: &Agreed) -> u64 {
        self.count.saturating_mul(of.share(self.hosts))
    }
}

impl Agreed {
    /// Safe share of one of `hosts` hosts, in bits per second.
    pub(super) fn share(&self, hosts: u64) -> u64 {
        let total = Total {
            max: nicety_model::BitRate(self.max),
            guarantee: nicety_model::BitRate(self.guarantee),
            weight: 1,
        };
        safe_share(&total, self.safe_share, hosts).0
    }
}
