//! What every worker of one endpoint knows, and what it hands back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nicety_account::Latency;
use nicety_account::workload::Schedule;
use nicety_model::Note;
use nicety_model::note::SockNote;
use nicety_model::sock::{DatagramCounts, RequestCounts, SockSpec};

use crate::hello::Key;

/// How often a worker that waits looks whether it should stop.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// How long an endpoint waits for the other after the end of the test.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// One endpoint's part in a test.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) spec: SockSpec,
    pub(crate) key: Key,
    /// Time zero of all times in ns.
    pub(crate) start: Instant,
    /// Client: leave at once. Server: the client is done, take what is still on the way.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) client: bool,
    /// Round trip of the control connection.
    pub(crate) round_trip_ns: Option<u64>,
    /// CPUs of the workers in turn; empty leaves them to the scheduler.
    pub(crate) cpus: Arc<[u32]>,
}

impl Job {
    pub(crate) fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    pub(crate) fn end_ns(&self) -> u64 {
        self.spec.duration().as_nanos() as u64
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether an end that acts by itself has to finish.
    pub(crate) fn over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns() || self.stopped()
    }

    /// Whether waiting for the other end is pointless by now.
    pub(crate) fn hopeless(&self, now_ns: u64) -> bool {
        (self.client && self.stopped()) || now_ns >= self.end_ns() + GRACE.as_nanos() as u64
    }

    pub(crate) fn schedule(&self) -> Option<Schedule> {
        let rate = self.spec.rate_per_s?;
        Some(Schedule::new(rate, self.spec.parallel))
    }

    /// Sleeps until `due_ns`, in slices short enough to notice a stop.
    pub(crate) fn sleep_until(&self, due_ns: u64) {
        loop {
            let now = self.now_ns();
            if now >= due_ns || self.stopped() {
                return;
            }
            std::thread::sleep(Duration::from_nanos(due_ns - now).min(TICK));
        }
    }
}

/// Since when an end that only answers has been told to stop.
#[derive(Debug, Default)]
pub(crate) struct Patience(Option<Instant>);

impl Patience {
    /// Whether `limit` has passed since the stop.
    pub(crate) fn is_over(&mut self, job: &Job, limit: Duration) -> bool {
        job.stopped() && self.0.get_or_insert_with(Instant::now).elapsed() >= limit
    }
}

/// Running counts of one worker, read by the time line. One writer each, alone on its cache
/// lines, so that counting costs nothing.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Live {
    pub(crate) transactions: Counter,
    pub(crate) sent_bytes: Counter,
    pub(crate) received_bytes: Counter,
    pub(crate) timeouts: Counter,
}

impl Live {
    /// A request of so many bytes and its answer of as many have gone over.
    #[inline]
    pub(crate) fn exchanged(&self, bytes: u64) {
        self.transactions.add(1);
        self.sent_bytes.add(bytes);
        self.received_bytes.add(bytes);
    }
}

/// A count with one writer.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.0.store(self.get() + more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a worker hands back; its [`Live`] counts stand beside it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) latency: Option<Latency>,
    pub(crate) requests: Option<RequestCounts>,
    pub(crate) datagrams: Option<DatagramCounts>,
    /// First and last thing done, in ns.
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: u64,
    pub(crate) cpu: Duration,
    /// CPUs it was pinned to, read back.
    pub(crate) pinned: Vec<u32>,
    pub(crate) features: Vec<String>,
    pub(crate) notes: Vec<Note>,
    pub(crate) faults: Vec<String>,
}

/// Adds the requests of another flow or worker.
pub(crate) fn add(all: &mut RequestCounts, more: &RequestCounts) {
    all.sent += more.sent;
    all.answered += more.answered;
    all.lost += more.lost;
    all.late += more.late;
    all.unexpected += more.unexpected;
}

impl Tally {
    /// With a histogram.
    pub(crate) fn with_latency() -> Self {
        Self {
            latency: Latency::new().ok(),
            ..Self::default()
        }
    }

    /// A transaction took `ns` and ended at `now_ns`.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64, now_ns: u64) {
        if let Some(latency) = &mut self.latency {
            latency.record(ns as i64);
        }
        self.last_ns = now_ns;
    }

    /// Something was done at `now_ns`.
    #[inline]
    pub(crate) fn active(&mut self, now_ns: u64) {
        self.first_ns.get_or_insert(now_ns);
        self.last_ns = now_ns;
    }

    pub(crate) fn feature(&mut self, name: &str) {
        if !self.features.iter().any(|known| known == name) {
            self.features.push(name.to_owned());
        }
    }

    pub(crate) fn fault(&mut self, what: impl Into<String>) {
        // A thousand flows fail for the same reason.
        let what = what.into();
        if self.faults.len() < 8 && !self.faults.contains(&what) {
            self.faults.push(what);
        }
    }

    /// Requests that were due but could not be sent in time.
    pub(crate) fn behind(&mut self, unsent: u64) {
        if unsent > 0 {
            self.notes
                .push(SockNote::RateMissedByPath { unsent }.into());
        }
    }
}
