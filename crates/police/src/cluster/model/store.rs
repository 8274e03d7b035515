//! The store: keys, leases, revisions and transactions as etcd has them.

use std::collections::BTreeMap;

use super::super::mutant::{self, Mutant};
use super::super::view::Change;
use super::super::wire::{GRANT_DIR, HostReport, LEDGER_KEY, MEMBER_DIR, REPORT_DIR, Wire};
use super::super::{Batch, Registration};

/// Milliseconds of real time.
pub type Millis = u64;

/// What a host asks of the store.
#[derive(Debug, Clone)]
pub enum Request {
    NewLease { sent_at: u64 },
    KeepAlive { lease: i64, sent_at: u64 },
    Revoke { lease: i64 },
    Register(Registration),
    Report { lease: i64, report: HostReport },
    Batch(Batch),
}

/// What the store answers, with the host's time at which it was asked.
#[derive(Debug, Clone)]
pub enum Answer {
    Lives { lease: i64, sent_at: u64 },
    Ended { lease: i64 },
    Written { applied: bool },
}

#[derive(Debug, Default)]
pub struct Store {
    keys: BTreeMap<String, (Vec<u8>, i64)>,
    /// When each lease ends.
    leases: BTreeMap<i64, Millis>,
    next_lease: i64,
    /// What changed in each revision, and when.
    pub history: Vec<(Millis, Vec<Change>)>,
    ttl: Millis,
}

impl Store {
    /// An empty one that keeps leases for so long, by real time.
    pub fn new(ttl: Millis) -> Self {
        Self {
            ttl,
            ..Self::default()
        }
    }

    /// Everything there is.
    pub fn all(&self) -> Vec<Change> {
        let keys = self.keys.iter();
        keys.map(|(key, (value, lease))| Change::Put {
            key: key.clone(),
            value: value.clone(),
            lease: *lease,
        })
        .collect()
    }

    pub fn revision(&self) -> usize {
        self.history.len()
    }

    fn commit(&mut self, now: Millis, changes: Vec<Change>) {
        for change in &changes {
            match change {
                Change::Put { key, value, lease } => {
                    self.keys.insert(key.clone(), (value.clone(), *lease));
                }
                Change::Gone { key } => {
                    self.keys.remove(key);
                }
            }
        }
        self.history.push((now, changes));
    }

    fn end(&mut self, now: Millis, lease: i64) {
        self.leases.remove(&lease);
        let under = self.keys.iter().filter(|(_, (_, of))| *of == lease);
        let gone: Vec<Change> = under
            .map(|(key, _)| Change::Gone { key: key.clone() })
            .collect();
        if !gone.is_empty() {
            self.commit(now, gone);
        }
    }

    /// Ends the leases whose time has come.
    pub fn expire(&mut self, now: Millis) {
        let due = self.leases.iter().filter(|(_, end)| **end <= now);
        let due: Vec<i64> = due.map(|(lease, _)| *lease).collect();
        for lease in due {
            self.end(now, lease);
        }
    }

    fn put(&mut self, now: Millis, key: String, value: Vec<u8>, lease: i64) {
        self.commit(now, vec![Change::Put { key, value, lease }]);
    }

    /// Carries out a request of a host.
    pub fn serve(&mut self, now: Millis, host: &str, request: Request) -> Option<Answer> {
        match request {
            Request::NewLease { sent_at } => {
                self.next_lease += 1;
                let lease = self.next_lease;
                self.leases.insert(lease, now + self.ttl);
                Some(Answer::Lives { lease, sent_at })
            }
            Request::KeepAlive { lease, sent_at } => {
                let Some(end) = self.leases.get_mut(&lease) else {
                    return Some(Answer::Ended { lease });
                };
                *end = now + self.ttl;
                Some(Answer::Lives { lease, sent_at })
            }
            Request::Revoke { lease } => {
                self.end(now, lease);
                None
            }
            Request::Register(Registration { lease, member }) => {
                let key = format!("{MEMBER_DIR}{host}");
                let mine = self.keys.get(&key).is_none_or(|(_, of)| *of == lease);
                if mine && self.leases.contains_key(&lease) {
                    self.put(now, key, member.encode(), lease);
                }
                None
            }
            Request::Report { lease, report } => {
                if self.leases.contains_key(&lease) {
                    self.put(now, format!("{REPORT_DIR}{host}"), report.encode(), lease);
                }
                None
            }
            Request::Batch(batch) => {
                let found = self.keys.get(LEDGER_KEY).map(|(value, _)| value.clone());
                if found != batch.expected() && !mutant::is(Mutant::NoLedger) {
                    return Some(Answer::Written { applied: false });
                }
                let put = |key: String, value: Vec<u8>| Change::Put {
                    key,
                    value,
                    lease: 0,
                };
                let mut changes = vec![put(LEDGER_KEY.to_owned(), batch.ledger())];
                let grants = batch.grants.iter();
                changes.extend(
                    grants.map(|(host, grant)| put(format!("{GRANT_DIR}{host}"), grant.encode())),
                );
                self.commit(now, changes);
                Some(Answer::Written { applied: true })
            }
        }
    }
}
