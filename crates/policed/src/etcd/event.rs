//! What a session says.

use std::time::Duration;

use nicety_police::cluster::{Changes, Lease};

use crate::etcd::Trouble;

/// What has happened since it was asked last, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It speaks to etcd, through this endpoint, and has a lease.
    Joined {
        /// URL.
        endpoint: String,
    },
    /// Something keeps it from its work; told once until it has joined again.
    Trouble(Trouble),
    /// The lease was renewed, or has ended.
    Lease(Lease),
    /// The store has changed: this host's own grant and entry, or all keys while it leads. After
    /// [`Event::Elected`] of either kind everything is told anew.
    Changed(Changes),
    /// This host leads, or does not lead any more.
    Elected(bool),
    /// What came of a leader's transactions.
    Written(Outcome),
}

/// What came of a leader's transactions.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// All of them stand.
    Applied,
    /// One was not applied, and none after it: another leader has written meanwhile, or leads.
    Overtaken,
    /// One was not applied, and none after it: the prefix is new, and hosts may still hold what an older etcd has
    /// granted.
    Young,
    /// Whether one stands is not known.
    Unknown(Trouble),
}

/// How the session is now. Times are of `CLOCK_BOOTTIME`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// The endpoint that it speaks to, or spoke to last.
    pub endpoint: Option<String>,
    /// The host's lease.
    pub lease: Option<Held>,
    /// It speaks to etcd.
    pub joined: bool,
    /// The host's entry stands under its lease.
    pub registered: bool,
    /// It leads.
    pub leading: bool,
    /// What keeps it from its work now.
    pub trouble: Option<Trouble>,
    /// Sessions begun after the first.
    pub reconnects: u64,
    /// Times that it was elected.
    pub elections: u64,
}

/// A lease of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// etcd's number.
    pub id: i64,
    /// What etcd grants from each renewal on.
    pub ttl: Duration,
    /// When the last renewal that etcd answered was *sent*: etcd cannot have received it earlier, so it cannot
    /// end the lease earlier than [`Self::ttl`] after that, by its own clock.
    pub sent_at: Duration,
}

/// Longest lease of etcd, in seconds (`lease/lessor.go`, `MaxLeaseTTL`).
const LONGEST: u64 = 9_000_000_000;

/// The time that an answer of etcd grants; none where it cannot be meant.
pub(crate) fn ttl(seconds: i64) -> Duration {
    let seconds = u64::try_from(seconds).ok().filter(|ttl| *ttl <= LONGEST);
    Duration::from_secs(seconds.unwrap_or(0))
}

impl From<Held> for Lease {
    fn from(held: Held) -> Self {
        Self::Renewed {
            lease: held.id,
            sent_at: held.sent_at,
            ttl: held.ttl,
        }
    }
}
