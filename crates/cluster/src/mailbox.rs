//! What waits to be written. Whoever puts something in never waits, and what waits never grows: of each own path
//! the newest value counts, and of a leader's batches the last few.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nicety_host::journal::since_boot;
use tokio::sync::Notify;

/// Batches that may wait.
const MOST_BATCHES: usize = 4;

/// What this host writes about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPut {
    /// Path below the prefix.
    pub path: String,
    /// What to write.
    pub value: Vec<u8>,
    /// It ends with the host's lease.
    pub leased: bool,
}

/// One write of a leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Path below the prefix.
    pub path: String,
    /// What to write; none removes the path.
    pub value: Option<Vec<u8>>,
    /// The lease that it ends with; 0 for none. A lease that has ended refuses its write, and no other.
    pub lease: i64,
}

/// All writes of a leader in a period. They pass only while the host leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// By which its outcome is told.
    pub number: u64,
    /// Writes.
    pub writes: Vec<Write>,
}

#[derive(Debug, Default)]
struct Inner {
    own: BTreeMap<String, OwnPut>,
    batches: VecDeque<Batch>,
    touched: Duration,
    stop: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    changed: Notify,
    stopping: Notify,
}

impl Mailbox {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is to be written, newest value of each path.
    pub(crate) fn own(&self, put: OwnPut) {
        self.inner().own.insert(put.path.clone(), put);
        self.changed.notify_one();
    }

    /// Takes a batch; false when too many wait already.
    pub(crate) fn batch(&self, batch: Batch) -> bool {
        let mut inner = self.inner();
        let has_room = inner.batches.len() < MOST_BATCHES;
        if has_room {
            inner.batches.push_back(batch);
        }
        self.changed.notify_one();
        has_room
    }

    /// Its owner gets on.
    pub(crate) fn touch(&self) {
        self.inner().touched = since_boot();
    }

    /// For how long its owner has not shown itself.
    pub(crate) fn idle(&self) -> Duration {
        since_boot().saturating_sub(self.inner().touched)
    }

    pub(crate) fn stop(&self) {
        self.inner().stop = true;
        self.stopping.notify_one();
    }

    pub(crate) fn stops(&self) -> bool {
        self.inner().stop
    }

    /// What waits, taken out: own puts, and batches.
    pub(crate) fn take(&self) -> (Vec<OwnPut>, Vec<Batch>) {
        let mut inner = self.inner();
        let own = std::mem::take(&mut inner.own).into_values().collect();
        (own, inner.batches.drain(..).collect())
    }

    /// Puts back what could not be written, where nothing newer waits.
    pub(crate) fn put_back(&self, puts: Vec<OwnPut>) {
        let mut inner = self.inner();
        for put in puts {
            inner.own.entry(put.path.clone()).or_insert(put);
        }
    }

    /// Until something is put in.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Until it is to stop.
    pub(crate) async fn stopped(&self) {
        while !self.stops() {
            self.stopping.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &str, value: &str) -> OwnPut {
        OwnPut {
            path: path.to_owned(),
            value: value.into(),
            leased: true,
        }
    }

    #[test]
    fn the_newest_value_of_a_path_waits() {
        let mailbox = Mailbox::default();
        for value in ["1", "2"] {
            mailbox.own(put("report/a", value));
        }
        let (own, _) = mailbox.take();
        assert_eq!(own, [put("report/a", "2")]);
        mailbox.own(put("report/a", "3"));
        mailbox.put_back(own);
        assert_eq!(mailbox.take().0, [put("report/a", "3")]);
    }

    #[test]
    fn no_more_than_a_few_batches_wait() {
        let mailbox = Mailbox::default();
        let batch = |number| Batch {
            number,
            writes: Vec::new(),
        };
        let taken: Vec<bool> = (0..6).map(|number| mailbox.batch(batch(number))).collect();
        assert_eq!(taken, [true, true, true, true, false, false]);
        assert_eq!(mailbox.take().1.len(), MOST_BATCHES);
    }
}
