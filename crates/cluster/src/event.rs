//! What a session says.

use std::time::Duration;

use crate::Trouble;

/// A key below the prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path below the prefix.
    pub path: String,
    /// What stands there.
    pub value: Vec<u8>,
    /// The lease that it ends with; 0 for none.
    pub lease: i64,
    /// etcd's revision of its last change.
    pub revision: i64,
}

/// What happened to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It was written.
    Put(Entry),
    /// It is gone: removed, or its lease has ended.
    Gone {
        /// Path below the prefix.
        path: String,
        /// etcd's revision of that.
        revision: i64,
    },
}

/// What has happened since it was asked last, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The host has a lease and its name, through this endpoint.
    Joined {
        /// URL.
        endpoint: String,
        /// etcd's number of the lease.
        lease: i64,
    },
    /// Something keeps it from its work; told once.
    Trouble(Trouble),
    /// The lease has ended: everything that was granted under it ends too.
    LeaseLost,
    /// What stands at this host's own paths, all at one revision; those that are not there are left out.
    Own(Vec<Entry>),
    /// What has changed at this host's own paths.
    OwnChanged(Vec<Change>),
    /// This host leads from now on; [`Event::View`] comes next.
    Leading {
        /// etcd's revision of the election's key: leaders that come later have a higher one.
        term: i64,
    },
    /// It does not lead any more.
    NotLeading,
    /// Everything below the prefix at one revision; only for the leader.
    View {
        /// etcd's revision.
        revision: i64,
        /// All keys but those that this crate keeps.
        entries: Vec<Entry>,
    },
    /// What has changed since; only for the leader.
    Changes {
        /// etcd's revision.
        revision: i64,
        /// Changes, in order.
        changes: Vec<Change>,
    },
    /// What came of a leader's batch.
    Wrote {
        /// Its number.
        batch: u64,
        /// What came of it.
        outcome: Outcome,
    },
}

/// What came of a leader's batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// All of it stands.
    Done,
    /// Nothing more of it was written: another host leads.
    NotLeader,
    /// Nothing of it was written: the prefix is new, and an older etcd's grants may still be held.
    Young,
    /// Some of it may stand: why it is not known.
    Unknown(Trouble),
}

/// How the session is now. Times are of `CLOCK_BOOTTIME`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// The endpoint that it speaks to.
    pub endpoint: Option<String>,
    /// The host's lease.
    pub lease: Option<Lease>,
    /// Whether the host has its name and may write.
    pub joined: bool,
    /// It leads.
    pub leading: bool,
    /// What keeps it from its work now.
    pub trouble: Option<Trouble>,
    /// Sessions begun after the first.
    pub reconnects: u64,
}

/// A lease of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// etcd's number.
    pub id: i64,
    /// What etcd grants from each renewal on.
    pub ttl: Duration,
    /// When the last renewal that etcd answered was *sent*: etcd cannot have received it earlier, so it cannot
    /// end the lease earlier than [`Self::ttl`] after that, by its own clock.
    pub sent_at: Duration,
}
