//! A host and, when it is elected, the leader: one machine that is fed with inputs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::demand::LocalDemand;
use super::event::ClusterEvent;
use super::host::{Applied, Host, HostState, Lease, Orders, Registration, Remembered};
use super::leader::{Batch, Leader};
use super::pace::{Reports, Turns};
use super::settings::HostSettings;
use super::view::{Changes, View};
use super::wire::{GRANT_DIR, HostReport, LEDGER_KEY, WireError};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Input {
    /// The store has changed. Who does not lead may watch its own keys only; who leads must see
    /// everything below the prefix, from a read of `all`.
    Changed(Changes),
    /// Something happened to the lease.
    Lease(Lease),
    /// This host was elected, or is no more.
    Elected(bool),
    /// Limits were set and read back.
    Applied(Applied),
    /// The host has looked at its ports: as often as it does, and after every grant. Whether that is reported is
    /// decided here.
    Period(BTreeMap<String, LocalDemand>),
    /// A leader may decide: several times in a period. Whether it does is decided here.
    Lead,
    /// A batch was applied, or another leader was faster.
    Written {
        /// It is in the store.
        applied: bool,
    },
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Output {
    /// What the limits are to be from now on, when that has changed.
    pub orders: Option<Orders>,
    /// What is to be on disk before the orders are carried out, when that has changed.
    pub remember: Option<Remembered>,
    /// The entry to write under the host's lease.
    pub register: Option<Registration>,
    /// The report to write under the host's lease.
    pub report: Option<HostReport>,
    /// Transactions, to be tried in this order until one does not apply.
    pub batches: Vec<Batch>,
    /// What is to be told.
    pub events: Vec<ClusterEvent>,
}

/// One host's part in the cluster.
#[derive(Debug, Clone)]
pub struct Node {
    host: Host,
    view: View,
    leader: Option<Leader>,
    reports: Reports,
    turns: Turns,
    orders: Option<Orders>,
    /// Serial of the last orders that were carried out.
    applied: u64,
    remembered: Option<Remembered>,
    garbage: usize,
}

impl Node {
    /// A node that has not heard anybody yet.
    pub fn new(settings: HostSettings, remembered: Option<Remembered>) -> Self {
        Self {
            host: Host::new(settings, remembered.clone()),
            view: View::default(),
            leader: None,
            reports: Reports::default(),
            turns: Turns::default(),
            orders: None,
            applied: 0,
            remembered,
            garbage: 0,
        }
    }

    /// Takes an input at `now` (`CLOCK_BOOTTIME`).
    pub fn feed(&mut self, now: Duration, input: &Input) -> Output {
        let mut output = Output::default();
        match input {
            Input::Changed(changes) => {
                let before = self.leader.as_ref().map(|_| self.view.reports(changes));
                self.view.take(changes);
                if before.is_some_and(|before| self.view.is_urgent(changes, &before)) {
                    self.turns.hurry();
                }
                // Before everything was read once, a record that is not there says nothing.
                if self.view.is_complete() {
                    let seen = self.view.hosts().get(&self.host.settings().name);
                    output.events.extend(self.host.take(seen));
                }
                output.events.extend(self.garbage());
            }
            Input::Lease(lease) => output.events.extend(self.host.take_lease(*lease)),
            Input::Elected(true) if self.leader.is_none() => {
                self.leader = Some(Leader::default());
                self.turns = Turns::default();
                output.events.push(ClusterEvent::Leads);
            }
            Input::Elected(false) if self.leader.is_some() => {
                self.leader = None;
                output.events.push(ClusterEvent::LeadsNoMore);
            }
            Input::Elected(_) | Input::Tick => {}
            Input::Written { applied } => {
                self.turns.written();
                output
                    .events
                    .extend((!applied).then_some(ClusterEvent::Overtaken));
            }
            Input::Applied(applied) => {
                if let Some(orders) = self
                    .orders
                    .as_ref()
                    .filter(|of| of.serial == applied.serial)
                {
                    let above = self.host.applied(orders, &applied.set);
                    if above.is_empty() {
                        self.applied = applied.serial;
                    }
                    let above = above.into_iter();
                    let above = above.map(|tenant| ClusterEvent::NotLowered { tenant });
                    output.events.extend(above);
                }
            }
            Input::Period(local) => output.report = self.report(now, local),
            Input::Lead => {
                let period = self.host.settings().period;
                let hosts = self.view.hosts().len();
                if let Some(leader) = &mut self.leader
                    && self.turns.due(now, period, hosts)
                {
                    let (batches, events) = leader.step(&self.view);
                    let grants = batches.iter().map(|batch| batch.grants.len()).sum();
                    self.turns.took(now, grants, hosts);
                    output.batches = batches;
                    output.events.extend(events);
                }
            }
        }
        let (_, event) = self.host.state(now);
        output.events.extend(event);
        output.orders = self.orders(now);
        let orders = self.orders.as_ref();
        let low = orders.is_some_and(|of| of.number == 0 && of.serial == self.applied);
        output.register = self.host.register(low);
        let remembered = self.host.remembered();
        if self.remembered.as_ref() != Some(&remembered) {
            output.remember = Some(remembered.clone());
            self.remembered = Some(remembered);
        }
        output
    }

    /// The host's part.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// What it has heard of the store.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether it believes that it leads.
    pub fn leads(&self) -> bool {
        self.leader.is_some()
    }

    /// How it stands at `now`.
    pub fn state(&self, now: Duration) -> HostState {
        self.host.clone().state(now).0
    }

    /// The report of what was seen, when it is to be written now.
    fn report(
        &mut self,
        now: Duration,
        local: &BTreeMap<String, LocalDemand>,
    ) -> Option<HostReport> {
        let (lease, report) = self.host.lease().zip(self.host.report(local))?;
        let period = self.host.settings().period;
        self.reports
            .due(now, period, lease, self.host.grant(), report)
    }

    /// The orders, when they have changed. Those that differ only in their deadline keep their
    /// serial: the limits need not be set again.
    fn orders(&mut self, now: Duration) -> Option<Orders> {
        let mut orders = self.host.orders(now);
        let last = self.orders.as_ref();
        let same = |last: &Orders| last.number == orders.number && last.limits == orders.limits;
        orders.serial = match last {
            Some(last) => last.serial + u64::from(!same(last)),
            None => 1,
        };
        if last == Some(&orders) {
            return None;
        }
        self.orders = Some(orders.clone());
        Some(orders)
    }

    /// Keys that cannot be read, when there are more of them. The ledger and other hosts' grants are left to
    /// the leader: it says what follows from them ([`ClusterEvent::CannotRaise`]).
    fn garbage(&mut self) -> Option<ClusterEvent> {
        let own = format!("{GRANT_DIR}{}", self.host.settings().name);
        let of_leader = |key: &str| {
            if key.starts_with(GRANT_DIR) {
                key != own || self.leader.is_some()
            } else {
                key == LEDGER_KEY
            }
        };
        let garbage = self.view.garbage().iter();
        let garbage: Vec<_> = garbage.filter(|(key, _)| !of_leader(key)).collect();
        let newer = |error: &WireError| match error {
            WireError::Newer(schema) => Some(*schema),
            WireError::Garbage(_) => None,
        };
        // One of a newer program says most.
        let first = garbage.iter().find(|(_, error)| newer(error).is_some());
        let first = first.or(garbage.first());
        let event = first.map(|(key, error)| ClusterEvent::Garbage {
            count: garbage.len(),
            key: (*key).clone(),
            newer: newer(error),
        });
        let more = garbage.len() > std::mem::replace(&mut self.garbage, garbage.len());
        event.filter(|_| more)
    }
}
