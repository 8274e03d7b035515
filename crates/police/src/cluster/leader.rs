//! The leader: what each host may send, from what is in the store.

mod plan;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::event::ClusterEvent;
use super::mutant::{self, Mutant};
use super::totals::{agreed, unknown};
use super::view::View;
use super::wire::{HostGrant, Ledger, SCHEMA, Wire};

use plan::{Plan, Planned};

/// Grants in one transaction: etcd takes 128 operations (`--max-txn-ops`), one is the ledger's.
#[cfg(not(test))]
pub const BATCH_GRANTS: usize = 127;
/// Small, so that the model has steps of several transactions.
#[cfg(test)]
pub const BATCH_GRANTS: usize = 2;
/// Bytes of grants in one transaction, below the 1.5 MiB that etcd takes (`--max-request-bytes`).
pub const BATCH_BYTES: usize = 1024 * 1024;

/// One transaction: if the ledger is still `expects`, write `becomes` and all grants, else nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The ledger before: as the step has read it, or as its transaction before this one writes it.
    /// None when there is none yet.
    pub expects: Option<Ledger>,
    /// The ledger as it is to be.
    pub becomes: Ledger,
    /// Grants by host.
    pub grants: Vec<(String, HostGrant)>,
}

impl Batch {
    /// The bytes that the ledger must have; none for no such key.
    pub fn expected(&self) -> Option<Vec<u8>> {
        self.expects.map(|ledger| ledger.encode())
    }

    /// The ledger's new bytes.
    pub fn ledger(&self) -> Vec<u8> {
        self.becomes.encode()
    }
}

/// Decides for all hosts. It remembers only what it has told: a new leader decides as an old one.
#[derive(Debug, Clone, Default)]
pub struct Leader {
    told: Option<BTreeSet<ClusterEvent>>,
}

impl Leader {
    /// What is to be written after all that is in `view`, and what is new to tell. Send the batches
    /// in this order: each applies only after the one before. The cap holds whichever arrive.
    pub fn step(&mut self, view: &View) -> (Vec<Batch>, Vec<ClusterEvent>) {
        let (totals, mut events) = agreed(view);
        let (unknown, odd) = unknown(view);
        events.extend(odd);
        let plan = Plan::new(view, &totals, unknown);
        let (planned, more) = plan.decide();
        events.extend(more);
        let batches = match view.ledger() {
            Ok(ledger) => batches(ledger, view.revision(), planned),
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
fn batches(read: Option<Ledger>, revision: i64, planned: Vec<Planned>) -> Vec<Batch> {
    let mut digest = Digest::default();
    let mut sizes = Vec::with_capacity(planned.len());
    for planned in &planned {
        let bytes = planned.grant.encode();
        digest.add(planned.host.as_bytes());
        digest.add(&bytes);
        sizes.push(bytes.len() + planned.host.len() + 64);
    }
    let step = if mutant::is(Mutant::NoStep) {
        (0, 0)
    } else {
        (revision, digest.value())
    };
    let mut batches: Vec<Batch> = Vec::new();
    let (mut before, mut bytes) = (read, 0);
    for (planned, size) in planned.into_iter().zip(sizes) {
        let full = |batch: &Batch| batch.grants.len() >= BATCH_GRANTS || bytes + size > BATCH_BYTES;
        if batches.last().is_none_or(full) {
            let becomes = Ledger {
                schema: SCHEMA,
                sequence: before.map_or(1, |before| before.sequence.saturating_add(1)),
                revision: step.0,
                digest: step.1,
            };
            batches.push(Batch {
                expects: before,
                becomes,
                grants: Vec::new(),
            });
            (before, bytes) = (Some(becomes), 0);
        }
        bytes += size;
        if let Some(batch) = batches.last_mut() {
            let mut grant = planned.grant;
            if planned.renumber {
                grant.number = batch.becomes.sequence;
            }
            batch.grants.push((planned.host, grant));
        }
    }
    batches
}

/// FNV-1a of 64 bits.
struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds bytes and where they end.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// As many bits as every reader of JSON takes exactly.
    fn value(&self) -> u64 {
        self.0 >> 11
    }
}

#[cfg(test)]
mod tests;
