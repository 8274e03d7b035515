//! Two moments of the CPUs and of watched threads, and what lies between them.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::CpuUse;

use super::attribute::{ThreadUse, attribute};
use crate::clock;
use crate::roots::{FactError, ProcRoot};
use crate::stat::StatSample;
use crate::tasks::TaskSample;

/// A thread to watch, and the name its time is booked under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedThread {
    /// Thread id in the PID namespace of the `/proc` that is read.
    pub tid: u32,
    /// Name in [`CpuUse::who`]: [`super::TESTER`] or [`crate::tasks::label_of`] of a kernel thread.
    /// Threads of the same label are summed.
    pub label: String,
}

/// Threads to watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watch {
    /// In any order.
    pub threads: Vec<WatchedThread>,
}

impl Watch {
    /// Adds a thread.
    pub fn add(&mut self, tid: u32, label: impl Into<String>) {
        self.threads.push(WatchedThread {
            tid,
            label: label.into(),
        });
    }
}

/// CPU time used up to one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuSnapshot {
    /// `CLOCK_MONOTONIC` at that moment.
    pub at: Duration,
    /// CPUs.
    pub stat: StatSample,
    /// Watched threads that were alive, by thread id.
    pub tasks: BTreeMap<u32, TaskSample>,
}

impl CpuSnapshot {
    /// Reads the counters. A watched thread that is gone or hidden is left out.
    ///
    /// # Errors
    /// When `/proc/stat` cannot be read.
    pub fn take(proc: &ProcRoot, watch: &Watch) -> Result<Self, FactError> {
        let stat = StatSample::read(proc)?;
        let at = clock::monotonic();
        let tasks = watch
            .threads
            .iter()
            .filter_map(|thread| Some((thread.tid, TaskSample::read(proc, thread.tid).ok()?)))
            .collect();
        Ok(Self { at, stat, tasks })
    }
}

/// CPU use between two snapshots.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuWindow {
    /// CPU use; `us_per_frame` is absent until [`super::us_per_frame`] fills it.
    pub cpu: CpuUse,
    /// Length of the window.
    pub elapsed: Duration,
    /// Labels of watched threads whose time is not known because they ended, were replaced or
    /// were hidden in between: their time is under `other`.
    pub gone: Vec<String>,
}

impl CpuWindow {
    /// What happened from `before` to `after`. `timed` are threads that lived only in between
    /// and measured their own time.
    pub fn between(
        watch: &Watch,
        before: &CpuSnapshot,
        after: &CpuSnapshot,
        timed: impl IntoIterator<Item = ThreadUse>,
    ) -> Self {
        let elapsed = after.at.saturating_sub(before.at);
        let mut gone = Vec::new();
        let mut threads: Vec<ThreadUse> = timed.into_iter().collect();
        for thread in &watch.threads {
            let samples = before
                .tasks
                .get(&thread.tid)
                .zip(after.tasks.get(&thread.tid));
            let used = samples.and_then(|(first, last)| last.cpu_time_since(first));
            match (used, samples) {
                (Some(used), Some((first, last))) if !elapsed.is_zero() => {
                    threads.push(ThreadUse {
                        label: thread.label.clone(),
                        cpus: used.as_secs_f64() / elapsed.as_secs_f64(),
                        home: last.home_since(first),
                    });
                }
                _ => gone.push(thread.label.clone()),
            }
        }
        gone.sort_unstable();
        gone.dedup();
        let cores = after.stat.shares_since(&before.stat);
        Self {
            cpu: attribute(cores, &threads),
            elapsed,
            gone,
        }
    }
}

/// A window that is open: started, not yet stopped.
#[derive(Debug, Clone)]
pub struct CpuSampler {
    proc: ProcRoot,
    watch: Watch,
    before: CpuSnapshot,
}

impl CpuSampler {
    /// Opens the window. The watched threads must live until [`Self::stop`], else their time
    /// cannot be told from others'.
    ///
    /// # Errors
    /// When `/proc/stat` cannot be read.
    pub fn start(proc: ProcRoot, watch: Watch) -> Result<Self, FactError> {
        let before = CpuSnapshot::take(&proc, &watch)?;
        Ok(Self {
            proc,
            watch,
            before,
        })
    }

    /// What happened since the start; the window stays open.
    ///
    /// # Errors
    /// When `/proc/stat` cannot be read.
    pub fn so_far(&self) -> Result<CpuWindow, FactError> {
        let after = CpuSnapshot::take(&self.proc, &self.watch)?;
        Ok(CpuWindow::between(&self.watch, &self.before, &after, []))
    }

    /// Closes the window.
    ///
    /// # Errors
    /// When `/proc/stat` cannot be read.
    pub fn stop(self) -> Result<CpuWindow, FactError> {
        self.so_far()
    }
}
