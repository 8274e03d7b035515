//! The interface of all searches: the caller asks for the next trial and feeds back its result.

use std::time::Duration;

use nicety_model::note::SearchNote;
use nicety_model::{Fps, LossRatio, Note, SearchBounds};

/// A trial the search wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialRequest {
    /// Load per direction.
    pub load: Fps,
    /// Length of the trial, without preparation and drain.
    pub duration: Duration,
    /// Length of the windows by which it is judged; none for a search that judges whole trials.
    pub window: Option<Duration>,
}

/// Observation of a valid trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Intended load per direction.
    pub load: Fps,
    /// Load that the trial shows to be carried if it met the goal: what was offered in the windows that it is judged by,
    /// which is less than `load` where the sender had to share its CPU.
    pub carried: Fps,
    /// Intended duration: the time that enters classification.
    pub duration: Duration,
    /// Wall time with preparation and drain: what the time-out is counted in.
    pub wall: Duration,
    /// Lost over sent.
    pub loss_ratio: LossRatio,
    /// Windows within the loss goal, and windows beyond it; absent where the search asked for none,
    /// or the engine cannot tell them apart.
    pub windows: Option<(u32, u32)>,
    /// Windows that lost exactly one frame.
    pub single: Option<u32>,
    /// Share of its time that is in windows, because the path had its CPUs.
    pub clean: f64,
    /// Frames received per second of sending time, per direction.
    pub forwarding: Fps,
}

/// Where the search stands, and at its end its result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Highest load that met the goal.
    pub lower: Option<Fps>,
    /// Lowest load that missed it.
    pub upper: Option<Fps>,
    /// Conditional throughput at `lower`.
    pub throughput: Option<Fps>,
    /// Whether `lower` and `upper` are within the goal's width.
    pub width_met: bool,
    /// The highest load that could be offered met the goal: the throughput is "at least".
    pub at_max: bool,
    /// Even the lowest load missed the goal.
    pub at_min: bool,
    /// Why there is no result; absent while the search goes on and when it succeeded.
    pub failed: Option<Note>,
    /// The search ran out of time: the bounds are wider apart than the goal asks, or there is
    /// no lower bound and so no result.
    pub timed_out: bool,
    /// Trials observed.
    pub trials: u32,
    /// Sum of the wall time of the trials observed, in seconds.
    pub wall_s: f64,
}

impl Outcome {
    /// Its bounds, as results tell them.
    pub fn bounds(&self) -> SearchBounds {
        SearchBounds {
            lower_fps: self.lower.map(|load| load.0),
            upper_fps: self.upper.map(|load| load.0),
        }
    }
}

/// Estimate of the remaining work.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Left {
    /// Trials.
    pub trials: u32,
    /// Traffic seconds of these trials, without preparation and drain.
    pub seconds: f64,
}

/// A throughput search. Deterministic: the same observations give the same asks, so feeding
/// recorded trials again brings an interrupted search back to where it was.
pub trait Search: std::fmt::Debug + Send {
    /// The next trial; the same until a result is observed, `None` when the search has ended.
    fn next_trial(&self) -> Option<TrialRequest>;

    /// Takes the result of a valid trial. Trials that are invalid must not come here.
    fn observe(&mut self, seen: &Seen);

    /// Takes the same trial as every goal judges it: one observation per goal, strictest first.
    fn observe_goals(&mut self, seen: &[Seen]) {
        if let Some(seen) = seen.first() {
            self.observe(seen);
        }
    }

    /// Length of the windows by which the goal of this number judges the trial that is due; none where
    /// it judges whole trials, or has nothing to learn from it.
    fn window_of(&self, goal: usize) -> Option<Duration> {
        let _ = goal;
        self.next_trial()?.window
    }

    /// The tester proved unable to offer more than `max`: no higher load is asked for.
    fn cap(&mut self, max: Fps);

    /// The trial that was asked for cannot be had now: something else has the CPUs. Another one is
    /// asked for, or none; by default the same again.
    fn skip(&mut self) {}

    /// A load at which the lower bound is expected, from an earlier repeat or visit. Only
    /// before the first observation; a wrong hint costs at most two trials.
    fn expect(&mut self, load: Fps);

    /// The same for the goal of this number, where goals are expected at loads of their own.
    fn expect_of(&mut self, goal: usize, load: Fps) {
        if goal == 0 {
            self.expect(load);
        }
    }

    /// The rate a path forwarded under overload, in a warm-up trial. Likewise a hint.
    fn expect_forwarding(&mut self, rate: Fps) {
        self.expect(rate);
    }

    /// Result, or the state so far.
    fn outcome(&self) -> Outcome;

    /// Number of goals.
    fn goals(&self) -> usize {
        1
    }

    /// Result for the goal of this number, from 0 for the strictest; the last one's beyond.
    fn outcome_of(&self, goal: usize) -> Outcome {
        let _ = goal;
        self.outcome()
    }

    /// Estimate of the remaining work.
    fn left(&self) -> Left;

    /// A load that one good trial of at least `duration` would make the lower bound and with
    /// it end the search.
    fn decidable_by(&self, duration: Duration) -> Option<Fps> {
        let _ = duration;
        None
    }

    /// Bounds so far, for a progress line.
    fn bounds(&self) -> SearchBounds {
        self.outcome().bounds()
    }
}

/// Why a search that took longer than `timeout` has no result.
pub(crate) fn out_of_time(timeout: Duration) -> Note {
    let limit_s = timeout.as_secs();
    SearchNote::OutOfTime { limit_s }.into()
}
