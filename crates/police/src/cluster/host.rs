//! One host: what its tenants may send here, from its lease and its grant.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::BitRate;
use serde::{Deserialize, Serialize};

use super::demand::LocalDemand;
use super::event::{ClusterEvent, FellBack};
use super::mutant::{self, Mutant};
use super::settings::HostSettings;
use super::view::HostView;
use super::wire::{HostGrant, HostReport, Member, SCHEMA, Usage};

/// What happened to the lease. Times are those of `CLOCK_BOOTTIME`, which goes on while the machine
/// sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lease {
    /// The store has answered a renewal, or has given a lease.
    Renewed {
        /// The lease.
        lease: i64,
        /// When the renewal was **sent**.
        sent_at: Duration,
        /// For how long the store keeps it after it has got the renewal.
        ttl: Duration,
    },
    /// The store does not know it any more, or it was given up.
    Ended {
        /// The lease.
        lease: i64,
    },
}

/// What the kernel's limits are to be now, and what the guard is to know before they are raised.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Orders {
    /// Counts orders with other limits; given back in [`Applied`].
    pub serial: u64,
    /// Grant that these limits hold; 0 for the safe shares.
    pub number: u64,
    /// Each tenant of the policy that has a total.
    pub limits: BTreeMap<String, Limit>,
    /// When the limits end (`CLOCK_BOOTTIME`): no limit may be raised from then on, and all have to be
    /// at most `safe`. None when they are safe already.
    pub deadline: Option<Duration>,
    /// The safe shares.
    pub safe: BTreeMap<String, BitRate>,
}

/// What a tenant may send on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limit {
    /// At most: the local controller's cap. 0 closes its ports as far as they can be closed.
    pub max: BitRate,
    /// In any case: the local controller's guarantee.
    pub guarantee: BitRate,
}

/// Limits that were set and read back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Applied {
    /// Of the orders that were carried out; those of earlier ones say nothing any more.
    pub serial: u64,
    /// What is set at each tenant's ports together. A tenant above its limit keeps the grant from
    /// being acknowledged; one that is absent has no port with a limit and sends nothing.
    pub set: BTreeMap<String, BitRate>,
}

/// The host's entry, to be written under its lease: in a transaction that holds only while the key
/// is absent, or under this lease already. An earlier lease of this host has to be revoked before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    /// The lease.
    pub lease: i64,
    /// The entry.
    pub member: Member,
}

/// What is kept on disk for the next daemon: what the host may send without hearing anybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Remembered {
    /// Safe share of each tenant.
    pub safe: BTreeMap<String, BitRate>,
}

/// How a host stands in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostState {
    /// It holds a grant.
    Granted,
    /// It has a lease, and waits for its first grant under it.
    Waiting,
    /// It has no lease that is sure to live.
    Alone,
}

/// The state from input to input.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    settings: HostSettings,
    lease: Option<Held>,
    /// The last grant under the present lease.
    grant: Option<HostGrant>,
    /// What it may send without a grant.
    safe: BTreeMap<String, BitRate>,
    acknowledged: u64,
    /// Lease under which it was to be registered.
    registered: Option<i64>,
    told: Option<HostState>,
    /// It was told that the host sends its safe shares only; until the next grant that is no news.
    fallen: bool,
}

/// A lease that was renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    id: i64,
    /// When the host stops relying on it.
    until: Duration,
}

impl Host {
    /// A host that has not heard anybody yet. Without a memory it has never been admitted: it may
    /// send nothing, or the safe share where the policy fixes the number of hosts.
    pub fn new(settings: HostSettings, remembered: Option<Remembered>) -> Self {
        let mut host = Self {
            settings,
            lease: None,
            grant: None,
            safe: BTreeMap::new(),
            acknowledged: 0,
            registered: None,
            told: None,
            fallen: false,
        };
        host.safe = remembered.map_or_else(|| host.unknown(), |of| of.safe);
        host
    }

    /// Its settings.
    pub fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// Its present lease.
    pub fn lease(&self) -> Option<i64> {
        self.lease.map(|lease| lease.id)
    }

    /// The grant that it holds, or is about to.
    pub(super) fn grant(&self) -> Option<&HostGrant> {
        self.grant.as_ref()
    }

    /// Takes what happened to the lease.
    pub fn take_lease(&mut self, lease: Lease) -> Vec<ClusterEvent> {
        match lease {
            Lease::Renewed {
                lease,
                sent_at,
                ttl,
            } => {
                let until = if mutant::is(Mutant::NoMargin) {
                    sent_at + ttl.mul_f64(1.2)
                } else {
                    sent_at + self.settings.margin.held_for(ttl)
                };
                match &mut self.lease {
                    // An answer that comes late says less than the last one.
                    Some(held) if held.id == lease => held.until = held.until.max(until),
                    _ => {
                        self.let_go();
                        self.lease = Some(Held { id: lease, until });
                        return vec![ClusterEvent::Joined { lease }];
                    }
                }
                Vec::new()
            }
            Lease::Ended { lease } if self.lease() == Some(lease) => {
                self.let_go();
                self.told = Some(HostState::Alone);
                self.fall(FellBack::LeaseEnded).into_iter().collect()
            }
            Lease::Ended { .. } => Vec::new(),
        }
    }

    /// Takes what the store has of this host. It must have been read after the host's lease was
    /// given.
    pub fn take(&mut self, seen: Option<&HostView>) -> Vec<ClusterEvent> {
        let record = seen.and_then(|seen| seen.grant.as_ref());
        let Some(lease) = self.lease else {
            return Vec::new();
        };
        match record {
            // Nobody counts with this host, or only with what an unknown one has.
            None => {
                let had = self.grant.take().is_some();
                self.safe = self.unknown();
                let fell = had.then(|| self.fall(FellBack::GrantGone)).flatten();
                fell.into_iter().collect()
            }
            Some(Some(grant))
                if (grant.lease == lease.id || mutant::is(Mutant::AnyLease))
                    && grant.number > self.number() =>
            {
                self.grant = Some(grant.clone());
                vec![ClusterEvent::Granted {
                    number: grant.number,
                }]
            }
            // Unreadable, of an earlier lease, or heard already: nothing to take.
            Some(_) => Vec::new(),
        }
    }

    /// What the limits are to be at `now`.
    pub fn orders(&self, now: Duration) -> Orders {
        let safe = self.safe_now();
        let tenants = self.settings.tenants.keys();
        match (&self.grant, self.lives(now)) {
            (Some(grant), Some(until)) => {
                let limits = tenants.map(|tenant| {
                    let grant = grant.tenants.get(tenant).copied().unwrap_or_default();
                    let limit = Limit {
                        max: grant.max,
                        guarantee: grant.guarantee,
                    };
                    (tenant.clone(), limit)
                });
                Orders {
                    serial: 0,
                    number: grant.number,
                    limits: limits.collect(),
                    deadline: Some(until),
                    safe,
                }
            }
            _ => {
                let limits = safe.iter().map(|(tenant, safe)| {
                    let limit = Limit {
                        max: *safe,
                        guarantee: *safe,
                    };
                    (tenant.clone(), limit)
                });
                Orders {
                    serial: 0,
                    number: 0,
                    limits: limits.collect(),
                    deadline: None,
                    safe,
                }
            }
        }
    }

    /// What a later daemon of this host may send before it hears anybody.
    pub fn remembered(&self) -> Remembered {
        Remembered {
            safe: self.safe_now(),
        }
    }

    /// Notes that the limits of `orders` are set: a grant that they hold is acknowledged in the
    /// next report. Gives the tenants whose limits are above, and then nothing is acknowledged.
    pub fn applied(&mut self, orders: &Orders, set: &BTreeMap<String, BitRate>) -> Vec<String> {
        let above = set.iter().filter(|(tenant, set)| {
            let limit = orders.limits.get(*tenant).copied().unwrap_or_default();
            **set > limit.max
        });
        let above: Vec<String> = above.map(|(tenant, _)| tenant.clone()).collect();
        if above.is_empty() && orders.number == self.number() {
            self.acknowledged = orders.number;
        }
        above
    }

    /// The entry to write: once for each lease, and only while the kernel's limits are at the safe
    /// shares (`low`), because those are all that the leader counts until it grants more.
    pub fn register(&mut self, low: bool) -> Option<Registration> {
        let lease = self.lease()?;
        if !(low || mutant::is(Mutant::RegisteredEarly)) || self.registered == Some(lease) {
            return None;
        }
        self.registered = Some(lease);
        Some(Registration {
            lease,
            member: self.settings.member(),
        })
    }

    /// The report of a period; none without a lease, or before anything can be said.
    pub fn report(&self, local: &BTreeMap<String, LocalDemand>) -> Option<HostReport> {
        self.lease?;
        let usage = self.settings.tenants.keys().map(|tenant| {
            let local = local.get(tenant).copied().unwrap_or_default();
            let usage = Usage {
                used: local.used,
                demand: local.demand,
            };
            (tenant.clone(), usage)
        });
        let holds = if mutant::is(Mutant::AcknowledgedEarly) {
            self.number()
        } else {
            self.acknowledged
        };
        Some(HostReport {
            schema: SCHEMA,
            holds,
            tenants: usage.collect(),
        })
    }

    /// How it stands at `now`, and what is to be told of that.
    pub fn state(&mut self, now: Duration) -> (HostState, Option<ClusterEvent>) {
        let state = match (&self.grant, self.lives(now)) {
            (_, None) => HostState::Alone,
            (None, Some(_)) => HostState::Waiting,
            (Some(_), Some(_)) => HostState::Granted,
        };
        let told = self.told.replace(state);
        self.fallen &= state != HostState::Granted;
        let event = match (told, state) {
            // The same lease was renewed after all, before the store ended it.
            (Some(HostState::Alone), HostState::Granted) => Some(ClusterEvent::Granted {
                number: self.number(),
            }),
            (Some(HostState::Granted | HostState::Waiting), HostState::Alone) => {
                self.fall(FellBack::NotRenewed)
            }
            (None | Some(HostState::Alone), HostState::Waiting) => Some(ClusterEvent::NotAdmitted),
            _ => None,
        };
        (state, event)
    }

    /// The host falls back. One accident is told once, however many signs of it come: the deadline, then
    /// the end of the lease, then a grant that is gone.
    fn fall(&mut self, why: FellBack) -> Option<ClusterEvent> {
        let is_new = !std::mem::replace(&mut self.fallen, true);
        is_new.then_some(ClusterEvent::FellBack { why })
    }

    /// Number of the grant that it holds, or is about to.
    fn number(&self) -> u64 {
        self.grant.as_ref().map_or(0, |grant| grant.number)
    }

    /// When the host stops relying on its lease, if that is still to come.
    fn lives(&self, now: Duration) -> Option<Duration> {
        let held = self.lease?;
        if mutant::is(Mutant::NoLeaseCheck) {
            return Some(Duration::MAX);
        }
        (now < held.until).then_some(held.until)
    }

    /// Gives up lease and grant, and keeps the safe shares.
    fn let_go(&mut self) {
        self.safe = self.safe_now();
        self.grant = None;
        self.lease = None;
        self.acknowledged = 0;
    }

    /// The safe shares of the grant, or else what was kept.
    fn safe_now(&self) -> BTreeMap<String, BitRate> {
        let tenants = self.settings.tenants.keys();
        let safe = tenants.map(|tenant| {
            let safe = match &self.grant {
                Some(grant) => grant.tenants.get(tenant).map(|grant| grant.safe),
                None => self.safe.get(tenant).copied(),
            };
            (tenant.clone(), safe.unwrap_or_default())
        });
        safe.collect()
    }

    /// What a host may send that no leader knows.
    fn unknown(&self) -> BTreeMap<String, BitRate> {
        let member = self.settings.member();
        let tenants = self.settings.tenants.keys();
        tenants
            .map(|tenant| (tenant.clone(), member.unknown_share(tenant)))
            .collect()
    }
}

#[cfg(test)]
mod tests;
