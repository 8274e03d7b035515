//! The leader: what each host may send, from what is in the store.

mod plan;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::event::ClusterEvent;
use super::totals::{agreed, unknown};
use super::view::View;
use super::wire::{HostGrant, Ledger, SCHEMA, Wire};

use plan::{Plan, Planned};

/// Grants in one transaction: etcd takes 128 operations (`--max-txn-ops`), one is the ledger's.
#[cfg(not(test))]
pub const BATCH_GRANTS: usize = 127;
/// Small, so that a test has steps of several transactions. The model's hosts fit into one: it sends
/// messages without waiting, and a later transaction of a step must wait for the one before.
#[cfg(test)]
pub const BATCH_GRANTS: usize = 4;
/// Bytes of grants in one transaction, below the 1.5 MiB that etcd takes (`--max-request-bytes`).
pub const BATCH_BYTES: usize = 1024 * 1024;

/// One transaction: if the ledger is still `expects`, write it and all grants, else nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The ledger as it was read; none when there is none yet.
    pub expects: Option<u64>,
    /// The ledger as it is to be: one more.
    pub sequence: u64,
    /// Grants by host.
    pub grants: Vec<(String, HostGrant)>,
}

impl Batch {
    /// The bytes that the ledger must have; none for no such key.
    pub fn expected(&self) -> Option<Vec<u8>> {
        self.expects.map(|sequence| Ledger::at(sequence).encode())
    }

    /// The ledger's new bytes.
    pub fn ledger(&self) -> Vec<u8> {
        Ledger::at(self.sequence).encode()
    }
}

/// Decides for all hosts. It remembers only what it has told: a new leader decides as an old one.
#[derive(Debug, Clone, Default)]
pub struct Leader {
    told: Option<BTreeSet<ClusterEvent>>,
}

impl Leader {
    /// What is to be written after all that is in `view`, and what is new to tell. The batches may
    /// be applied all, the first few or none: the cap holds in any case.
    pub fn step(&mut self, view: &View) -> (Vec<Batch>, Vec<ClusterEvent>) {
        let (totals, mut events) = agreed(view);
        let (unknown, odd) = unknown(view);
        events.extend(odd);
        let plan = Plan::new(view, &totals, unknown);
        let (planned, more) = plan.decide();
        events.extend(more);
        let batches = match view.ledger() {
            Ok(sequence) => batches(sequence, planned),
            Err(_) => {
                let key = super::wire::LEDGER_KEY.to_owned();
                events.push(ClusterEvent::CannotRaise { key });
                Vec::new()
            }
        };
        (batches, self.news(view, events))
    }

    /// Events that the last step had not.
    fn news(&mut self, view: &View, events: Vec<ClusterEvent>) -> Vec<ClusterEvent> {
        let mut now: BTreeSet<ClusterEvent> = events.into_iter().collect();
        for (name, host) in view.hosts() {
            let host = match (host.lease(), &host.grant) {
                (Some(_), _) => ClusterEvent::HostJoined { host: name.clone() },
                (None, Some(_)) => ClusterEvent::HostLost { host: name.clone() },
                (None, None) => continue,
            };
            now.insert(host);
        }
        let known = |event: &ClusterEvent| match &self.told {
            Some(told) => told.contains(event),
            // Who begins to lead finds the hosts there.
            None => matches!(event, ClusterEvent::HostJoined { .. }),
        };
        let news = now.iter().filter(|event| !known(event)).cloned().collect();
        self.told = Some(now);
        news
    }
}

/// Splits what is planned into transactions that the store takes.
fn batches(mut ledger: Option<u64>, planned: Vec<Planned>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut bytes = 0;
    for Planned {
        host,
        mut grant,
        renumber,
    } in planned
    {
        let size = grant.encode().len() + host.len() + 64;
        let full = |batch: &Batch| batch.grants.len() >= BATCH_GRANTS || bytes + size > BATCH_BYTES;
        if batches.last().is_none_or(full) {
            let sequence = ledger.map_or(1, |last| last + 1);
            batches.push(Batch {
                expects: ledger,
                sequence,
                grants: Vec::new(),
            });
            (ledger, bytes) = (Some(sequence), 0);
        }
        bytes += size;
        if let Some(batch) = batches.last_mut() {
            if renumber {
                grant.number = batch.sequence;
            }
            grant.schema = SCHEMA;
            batch.grants.push((host, grant));
        }
    }
    batches
}

#[cfg(test)]
mod tests;
