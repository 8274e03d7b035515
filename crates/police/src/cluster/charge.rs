//! What hosts may still send: the accounting on which the cap rests.

use nicety_model::BitRate;

use super::mutant::{self, Mutant};
use super::view::HostView;

/// The most that a host may send of a tenant if it gets no other grant, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Charge {
    /// Now.
    pub(super) now: u64,
    /// When its lease has ended; never above `now`.
    pub(super) safe: u64,
}

/// Charge of a host for a tenant; none where its grant cannot be read, which may say anything.
///
/// A host holds one of the grants from the last that it acknowledged to the last that was written.
/// It falls back to the safe share of the one it holds, before its lease ends. The charge is the
/// highest of these, and the record alone says it: a new leader needs no memory.
pub(super) fn charge(host: &HostView, tenant: &str) -> Option<Charge> {
    let both = |rate: BitRate| Charge {
        now: rate.0,
        safe: rate.0,
    };
    let Some(record) = &host.grant else {
        // Nobody has heard of it: a safe share where the number of hosts is fixed.
        let member = host.member();
        return Some(member.map_or_else(Charge::default, |of| both(of.unknown_share(tenant))));
    };
    let record = record.as_ref()?;
    let Some(grant) = record.tenants.get(tenant) else {
        return Some(Charge::default());
    };
    if host.lease() != Some(record.lease) {
        return Some(both(grant.safe_ceiling()));
    }
    if host.acknowledged() || mutant::is(Mutant::NoAcknowledgement) {
        return Some(Charge {
            now: grant.max.0,
            safe: grant.safe.0,
        });
    }
    Some(Charge {
        now: grant.ceiling().0,
        safe: grant.safe_ceiling().0,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cluster::view::Leased;
    use crate::cluster::wire::{Grant, HostGrant, HostReport, Member, SCHEMA, Total};

    fn host(lease: Option<i64>, holds: Option<u64>) -> HostView {
        let total = Total {
            max: BitRate(100),
            guarantee: BitRate(40),
            weight: 1,
        };
        let member = Member {
            schema: SCHEMA,
            machine: "m".to_owned(),
            hosts: Some(5),
            safe_share: None,
            tenants: BTreeMap::from([("a".to_owned(), total)]),
        };
        let grant = Grant {
            max: BitRate(30),
            safe: BitRate(10),
            ..Grant::default()
        };
        HostView {
            member: lease.map(|lease| Leased {
                lease,
                value: Some(member),
            }),
            report: holds.map(|holds| Leased {
                lease: 7,
                value: Some(HostReport {
                    schema: SCHEMA,
                    holds,
                    ..HostReport::default()
                }),
            }),
            grant: Some(Some(HostGrant {
                schema: SCHEMA,
                lease: 7,
                number: 3,
                tenants: BTreeMap::from([("a".to_owned(), grant.with_ceilings(50, 20))]),
            })),
        }
    }

    #[test]
    fn a_grant_counts_as_the_highest_that_may_be_held() {
        let of = |host: &HostView| charge(host, "a").map(|charge| (charge.now, charge.safe));
        assert_eq!(of(&host(Some(7), Some(2))), Some((50, 20)));
        assert_eq!(of(&host(Some(7), None)), Some((50, 20)));
        assert_eq!(of(&host(Some(7), Some(3))), Some((30, 10)));
        // Its lease has ended, or it has another one.
        assert_eq!(of(&host(None, None)), Some((20, 20)));
        assert_eq!(of(&host(Some(8), Some(3))), Some((20, 20)));
        let mut unknown = host(Some(7), None);
        unknown.grant = None;
        assert_eq!(of(&unknown), Some((20, 20)));
        unknown.grant = Some(None);
        assert_eq!(of(&unknown), None);
    }
}
