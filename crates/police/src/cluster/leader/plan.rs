//! One step of the leader: charges, targets, and the grants that follow.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::{BitRate, total};

use super::super::charge::{Charge, charge};
use super::super::event::ClusterEvent;
use super::super::mutant::{self, Mutant};
use super::super::shares::{Target, Wish, near, targets};
use super::super::totals::{Agreed, Unknown};
use super::super::view::{HostView, View};
use super::super::wire::{GRANT_DIR, Grant, HostGrant, SCHEMA};

/// A record that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) host: String,
    pub(super) grant: HostGrant,
    /// It is a new grant, not an old one of which less is to be charged.
    pub(super) renumber: bool,
}

/// A host of one tenant.
struct Part<'a> {
    host: &'a str,
    charge: Charge,
    /// The wish of a living host that names the tenant.
    wish: Option<Wish>,
    /// What its present grant says.
    has: Option<Grant>,
}

/// What a host is to have of one tenant.
#[derive(Debug, Clone, Copy)]
struct Next {
    grant: Grant,
    charge: Charge,
}

pub(super) struct Plan<'a> {
    view: &'a View,
    totals: &'a BTreeMap<&'a str, Agreed>,
    unknown: Unknown,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        view: &'a View,
        totals: &'a BTreeMap<&'a str, Agreed>,
        unknown: Unknown,
    ) -> Self {
        Self {
            view,
            totals,
            unknown,
        }
    }

    /// The records that change, by host, and what is odd.
    pub(super) fn decide(&self) -> (Vec<Planned>, Vec<ClusterEvent>) {
        let mut events = Vec::new();
        let unreadable: Vec<&str> = (self.view.hosts().iter())
            .filter(|(_, host)| matches!(host.grant, Some(None)))
            .map(|(name, _)| name.as_str())
            .collect();
        for host in &unreadable {
            let key = format!("{GRANT_DIR}{host}");
            events.push(ClusterEvent::CannotRaise { key });
        }
        let mut next: BTreeMap<&str, BTreeMap<&str, Next>> = BTreeMap::new();
        for (tenant, parts) in self.tenants() {
            let agreed = self.totals.get(tenant).copied();
            let (of, over) = self.tenant(agreed, &parts, unreadable.is_empty());
            if let (Some(agreed), true) = (agreed, over) {
                events.push(ClusterEvent::Overcommitted {
                    tenant: tenant.to_owned(),
                    total: BitRate(agreed.max),
                });
            }
            for (host, of) in of {
                next.entry(host).or_default().insert(tenant, of);
            }
        }
        let hosts = self.view.hosts().iter();
        let planned = hosts.filter_map(|(name, host)| {
            let next = next.remove(name.as_str()).unwrap_or_default();
            record(host, next).map(|(grant, renumber)| Planned {
                host: name.clone(),
                grant,
                renumber,
            })
        });
        (planned.collect(), events)
    }

    /// The tenants with all hosts that may send of them.
    fn tenants(&self) -> BTreeMap<&'a str, Vec<Part<'a>>> {
        let mut tenants: BTreeMap<&str, Vec<Part<'_>>> = BTreeMap::new();
        for (name, host) in self.view.hosts() {
            let member = host.member();
            let record = host.grant.as_ref().and_then(Option::as_ref);
            let of_member = member.iter().flat_map(|member| member.tenants.keys());
            let of_record = record.iter().flat_map(|record| record.tenants.keys());
            let both: BTreeSet<&String> = of_member.chain(of_record).collect();
            for tenant in both {
                let total = member.and_then(|member| member.tenants.get(tenant));
                let has = host.grant().and_then(|grant| grant.tenants.get(tenant));
                let wish = total.map(|total| Wish {
                    weight: f64::from(total.weight.max(1)),
                    demand: demand(host, tenant),
                    has: has.map(|has| has.max.0),
                });
                tenants.entry(tenant).or_default().push(Part {
                    host: name,
                    charge: charge(host, tenant).unwrap_or_default(),
                    wish,
                    has: has.copied(),
                });
            }
        }
        tenants
    }

    /// What each living host is to have of a tenant, and whether more may be sent than its total.
    fn tenant(
        &self,
        agreed: Option<Agreed>,
        parts: &[Part<'a>],
        raises: bool,
    ) -> (Vec<(&'a str, Next)>, bool) {
        let max = agreed.map_or(0, |of| of.max);
        let reserve = agreed.map_or(0, |of| self.unknown.reserve(&of));
        let charged = total(parts.iter().map(|part| part.charge.now)).saturating_add(reserve);
        // What hosts hold that cannot be asked: dead ones, and those that have not the tenant any more.
        let silent = parts.iter().filter(|part| part.wish.is_none());
        let fixed = total(silent.map(|part| part.charge.now)).saturating_add(reserve);
        let wishes: Vec<Wish> = parts.iter().filter_map(|part| part.wish).collect();
        let guarantee = agreed.map_or(0, |of| of.guarantee);
        let mut targets = targets(max.saturating_sub(fixed), guarantee, &wishes).into_iter();
        let wanted: Vec<Target> = (parts.iter())
            .map(|part| match part.wish {
                Some(_) => targets.next().unwrap_or_default(),
                None => Target::default(),
            })
            .collect();
        let raises = raises && (charged <= max || mutant::is(Mutant::ChargeIsOwned));
        let raised = if raises {
            raise(max.saturating_sub(charged), parts, &wanted)
        } else {
            keep(parts, &wanted)
        };
        let known = self.unknown.hosts.max(parts.len() as u64);
        let safe = agreed.map_or(0, |of| of.share(known));
        let next = parts.iter().zip(&wanted).zip(raised);
        let next = next.map(|((part, wanted), max)| {
            let next = grant(part, Target { max, ..*wanted }, safe);
            (part.host, next)
        });
        (next.collect(), charged > max)
    }
}

/// Demand of a host, as it last said; none when it wants more than it has, or has not said.
fn demand(host: &HostView, tenant: &str) -> Option<u64> {
    let usage = host.report()?.tenants.get(tenant)?;
    Some(usage.demand?.0)
}

/// What each may have: at most its target, and above what it is charged for only out of what is
/// free, shared as far as each lacks it.
fn raise(free: u64, parts: &[Part<'_>], wanted: &[Target]) -> Vec<u64> {
    let lack = |part: &Part<'_>, wanted: &Target| wanted.max.saturating_sub(part.charge.now);
    let pairs = || parts.iter().zip(wanted);
    let all: u128 = pairs()
        .map(|(part, wanted)| u128::from(lack(part, wanted)))
        .sum();
    let raised = pairs().map(|(part, wanted)| {
        let lack = lack(part, wanted);
        if lack == 0 {
            return wanted.max;
        }
        let share = u128::from(free) * u128::from(lack) / all.max(1);
        part.charge.now + lack.min(share as u64)
    });
    raised.collect()
}

/// What each may have while more is charged than there is: no more than its last grant says. A charge
/// may be too high, as when an old report comes again after others have got what was acknowledged. So
/// it is nothing that the host may have.
fn keep(parts: &[Part<'_>], wanted: &[Target]) -> Vec<u64> {
    let pairs = parts.iter().zip(wanted);
    let kept = pairs.map(|(part, wanted)| {
        let has = part.has.map_or(0, |has| has.max.0);
        wanted.max.min(has)
    });
    kept.collect()
}

/// The grant of one host, with what it may still hold of earlier ones.
fn grant(part: &Part<'_>, target: Target, safe: u64) -> Next {
    let mut safe = safe;
    let mut guarantee = target.guarantee;
    if let Some(has) = part.has {
        // Neither is worth a write of its own.
        if has.safe.0.abs_diff(safe).saturating_mul(5) <= safe {
            safe = has.safe.0;
        }
        if near(has.guarantee.0, guarantee)
            || has.guarantee.0.abs_diff(guarantee).saturating_mul(20) <= target.max
        {
            guarantee = has.guarantee.0;
        }
    }
    if !mutant::is(Mutant::SafeAboveGrant) {
        safe = safe.min(target.max);
    }
    let grant = Grant {
        max: BitRate(target.max),
        guarantee: BitRate(guarantee.min(target.max)),
        safe: BitRate(safe),
        ..Grant::default()
    };
    let grant = if mutant::is(Mutant::NoCeiling) {
        grant
    } else {
        grant.with_ceilings(part.charge.now, part.charge.safe)
    };
    Next {
        grant,
        charge: part.charge,
    }
}

/// The record of a living host that is to be written, and whether it is a new grant.
fn record(host: &HostView, next: BTreeMap<&str, Next>) -> Option<(HostGrant, bool)> {
    let lease = host.lease()?;
    host.member()?;
    if matches!(host.grant, Some(None)) {
        return None;
    }
    let had = host.grant();
    let said = |of: &Grant| (of.max, of.guarantee, of.safe);
    let same = had.is_some_and(|had| {
        next.iter().all(|(tenant, next)| {
            let had = had.tenants.get(*tenant).copied().unwrap_or_default();
            said(&had) == said(&next.grant)
        })
    });
    let tenants = |next: BTreeMap<&str, Next>| -> BTreeMap<String, Grant> {
        let kept = next
            .into_iter()
            .filter(|(_, next)| !next.grant.is_nothing());
        kept.map(|(tenant, next)| (tenant.to_owned(), next.grant))
            .collect()
    };
    let Some(had) = had.filter(|_| same) else {
        let grant = HostGrant {
            schema: SCHEMA,
            lease,
            tenants: tenants(next),
            ..HostGrant::default()
        };
        return Some((grant, true));
    };
    // Nothing new is granted. Ceilings that were acknowledged away are written only where they count
    // when the host is dead: nobody will know then what it has acknowledged.
    let stale = |(tenant, next): (&&str, &Next)| {
        let had = had.tenants.get(*tenant);
        had.is_some_and(|had| had.safe_ceiling().0 > next.charge.safe.max(next.grant.safe.0))
    };
    if !(host.acknowledged() && next.iter().any(stale)) {
        return None;
    }
    let settled = HostGrant {
        schema: SCHEMA,
        tenants: tenants(next),
        ..had.clone()
    };
    Some((settled, false))
}
