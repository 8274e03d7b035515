//! What waits to be written. Whoever puts something in never waits, and what waits never grows: of each kind the
//! newest counts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_police::cluster::{Batch, HostReport, Registration};
use tokio::sync::Notify;

/// What is to be written.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    /// The host's entry; it stays, for the next session.
    pub(crate) registration: Option<Registration>,
    /// The host's report.
    pub(crate) report: Option<HostReport>,
    /// A leader's transactions.
    pub(crate) batches: Vec<Batch>,
}

#[derive(Debug, Default)]
struct Inner {
    letters: Letters,
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

    fn put(&self, change: impl FnOnce(&mut Letters)) {
        change(&mut self.inner().letters);
        self.changed.notify_one();
    }

    pub(crate) fn register(&self, registration: Registration) {
        self.put(|letters| letters.registration = Some(registration));
    }

    pub(crate) fn report(&self, report: HostReport) {
        self.put(|letters| letters.report = Some(report));
    }

    pub(crate) fn lead(&self, batches: Vec<Batch>) {
        self.put(|letters| letters.batches = batches);
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

    /// What waits, taken out but for the entry.
    pub(crate) fn take(&self) -> Letters {
        let mut inner = self.inner();
        Letters {
            registration: inner.letters.registration.clone(),
            report: inner.letters.report.take(),
            batches: std::mem::take(&mut inner.letters.batches),
        }
    }

    /// Puts back a report that could not be written, where no newer one waits.
    pub(crate) fn put_back(&self, report: HostReport) {
        self.inner().letters.report.get_or_insert(report);
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

    #[test]
    fn the_newest_report_waits() {
        let mailbox = Mailbox::default();
        let report = |holds| HostReport {
            holds,
            ..HostReport::default()
        };
        mailbox.report(report(1));
        mailbox.report(report(2));
        let first = mailbox.take().report.unwrap();
        assert_eq!(first, report(2));
        mailbox.report(report(3));
        mailbox.put_back(first);
        assert_eq!(mailbox.take().report, Some(report(3)));
        assert_eq!(mailbox.take().report, None);
    }
}
