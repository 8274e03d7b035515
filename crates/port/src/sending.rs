//! What the senders of a trial did, and the times they keep. Shared by all engines.

use std::time::Duration;

use nicety_model::{Fps, PacingReport};

use crate::engine::{SenderReport, TrialOrder, WorkerUse};
use crate::pace::{Arrears, Pacer, Timetable};
use crate::rest::Rest;

/// Time between making the schedule and its first slot: threads start in between.
pub(crate) const LEAD: Duration = Duration::from_millis(3);
/// Learning frames per port.
pub(crate) const LEARNING_FRAMES: u64 = 3;
/// Share of the duration that sending may take longer before what is left is given up.
const OVERTIME: f64 = 0.05;

/// What one port sent in one trial.
#[derive(Debug, Clone)]
pub struct Sending {
    pub(crate) stream: u8,
    /// On the wire, those refused by the path's first ring included.
    pub(crate) sent: u64,
    pub(crate) refused_by_path: u64,
    /// When the first frame left; 0 if none did.
    pub(crate) first_ns: u64,
    pub(crate) pacing: PacingReport,
    /// When frames were due; empty where that is not known.
    pub(crate) timetable: Timetable,
}

impl TrialOrder {
    /// Longest time of sending, whatever is still due then.
    pub(crate) fn longest_ns(&self) -> u64 {
        let duration = self.duration + self.then.map_or(Duration::ZERO, |then| then.duration);
        (duration.as_nanos() as f64 * (1.0 + OVERTIME)) as u64 + 1_000_000
    }

    /// Rate of the schedule while it is not resting.
    pub(crate) fn pace(&self) -> Fps {
        pace(self.load, self.rest)
    }

    /// What a late sender owes.
    pub(crate) fn arrears(&self) -> Arrears {
        Arrears::of(self.pace(), self.catch_up)
    }

    /// The schedule of a sender whose first frame is due at `start_ns`.
    pub(crate) fn pacer(&self, start_ns: u64) -> Pacer {
        let pacer = Pacer::new(self.pace(), self.arrears(), self.frames(), start_ns);
        match self.then {
            Some(then) => {
                let rate = pace(then.load, self.rest);
                // What was not sent in time before it is no load of this one.
                pacer.with_step(self.frames_before(), rate, Arrears::of(rate, false))
            }
            None => pacer,
        }
    }
}

/// Rate between the rests, where there are any, that makes `load` on average.
pub(crate) fn pace(load: Fps, rest: Option<Rest>) -> Fps {
    rest.map_or(load, |rest| rest.pace(load))
}

/// What all threads of a trial did, in the order of the streams.
pub(crate) fn by_stream(threads: Vec<(Vec<Sending>, WorkerUse)>) -> (Vec<Sending>, Vec<WorkerUse>) {
    let (sendings, workers): (Vec<_>, _) = threads.into_iter().unzip();
    let mut sendings = sendings.concat();
    sendings.sort_by_key(|sending| sending.stream);
    (sendings, workers)
}

/// What the senders say, each of which was to send `intended` frames.
pub(crate) fn reports(sendings: &[Sending], intended: u64) -> Vec<SenderReport> {
    let report = |sending: &Sending| SenderReport {
        stream: sending.stream,
        intended,
        sent: sending.sent,
        refused_by_path: sending.refused_by_path,
        pacing: sending.pacing,
    };
    sendings.iter().map(report).collect()
}

/// Largest difference between the first frames of those that sent any, in seconds.
pub(crate) fn start_spread_s(sendings: &[Sending]) -> f64 {
    let starts = || sendings.iter().map(|s| s.first_ns).filter(|ns| *ns > 0);
    let spread = starts().max().unwrap_or(0) - starts().min().unwrap_or(0);
    spread as f64 * 1e-9
}
