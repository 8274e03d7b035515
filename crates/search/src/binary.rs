//! Bisection on acceptable loss, as a hardware tester's command sequencer does it: start at
//! the highest load; on loss halve it; without loss go to the middle between the load and the
//! nearest one that failed; stop when the two are within the resolution.

use std::time::Duration;

use nicety_model::Fps;
use nicety_model::note::SearchNote;

use crate::goal::Goal;
use crate::machine::{Left, Outcome, Search, Seen, TrialRequest, out_of_time};

/// The bisection.
#[derive(Debug, Clone)]
pub struct Binary {
    loss_ratio: f64,
    resolution: f64,
    trial: Duration,
    timeout: Duration,
    min: f64,
    max: f64,
    passed: Option<f64>,
    passed_loss: f64,
    failed: Option<f64>,
    trials: u32,
    wall: Duration,
    next: Option<f64>,
    timed_out: bool,
}

impl Binary {
    /// A bisection between `min` and `max` with the goal's loss ratio, resolution (its width) and
    /// final trial.
    pub fn new(goal: &Goal, min: Fps, max: Fps, timeout: Duration) -> Self {
        let mut binary = Self {
            loss_ratio: goal.loss_ratio,
            resolution: goal.width,
            trial: goal.final_trial,
            timeout,
            min: min.0.min(max.0),
            max: max.0,
            passed: None,
            passed_loss: 0.0,
            failed: None,
            trials: 0,
            wall: Duration::ZERO,
            next: None,
            timed_out: false,
        };
        binary.plan();
        binary
    }

    /// Acceptable loss is a loss below the limit, as the testers word it; no loss always is.
    fn acceptable(&self, loss: f64) -> bool {
        loss == 0.0 || loss < self.loss_ratio
    }

    fn width_met(&self) -> bool {
        match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => failed - passed <= failed * self.resolution,
            _ => false,
        }
    }

    fn plan(&mut self) {
        self.next = match (self.passed, self.failed) {
            _ if self.width_met() => None,
            (None, None) => Some(self.max),
            // Nothing passed yet: halve. The lowest load is tried before giving up.
            (None, Some(failed)) if failed > self.min => Some((failed / 2.0).max(self.min)),
            (None, Some(_)) => None,
            (Some(passed), None) if passed < self.max => Some(self.max),
            (Some(_), None) => None,
            // Half of the failed load would lie below one that passed: the middle it is.
            (Some(passed), Some(failed)) => {
                Some(((passed + failed) / 2.0).min(self.max)).filter(|load| *load > passed)
            }
        };
        if self.next.is_some() && self.wall > self.timeout {
            self.next = None;
            self.timed_out = true;
        }
    }
}

impl Search for Binary {
    fn next_trial(&self) -> Option<TrialRequest> {
        self.next.map(|load| TrialRequest {
            load: Fps(load),
            duration: self.trial,
            window: None,
        })
    }

    fn observe(&mut self, seen: &Seen) {
        self.trials += 1;
        self.wall += seen.wall;
        let load = seen.load.0;
        if self.acceptable(seen.loss_ratio.0) {
            if self.passed.is_none_or(|passed| load >= passed) {
                self.passed = Some(load);
                self.passed_loss = seen.loss_ratio.0;
            }
        } else if self.failed.is_none_or(|failed| load < failed) {
            self.failed = Some(load);
        }
        // A load that fails after it passed is no lower bound.
        if let (Some(passed), Some(failed)) = (self.passed, self.failed)
            && passed >= failed
        {
            self.passed = None;
        }
        self.plan();
    }

    fn cap(&mut self, max: Fps) {
        self.max = self.max.min(max.0);
        self.min = self.min.min(self.max);
        self.plan();
    }

    /// Not used: the sequence of a bisection is fixed.
    fn expect(&mut self, _load: Fps) {}

    fn outcome(&self) -> Outcome {
        let at_min = self.passed.is_none() && self.failed.is_some_and(|f| f <= self.min);
        let ended = self.next.is_none();
        let failed = if self.timed_out && self.passed.is_none() {
            Some(out_of_time(self.timeout))
        } else if ended && at_min {
            let load_fps = Fps(self.min);
            Some(SearchNote::LowestLoadLost { load_fps }.into())
        } else {
            None
        };
        Outcome {
            lower: self.passed.map(Fps),
            upper: self.failed.map(Fps),
            throughput: self.passed.map(|load| Fps(load * (1.0 - self.passed_loss))),
            width_met: self.width_met(),
            at_max: !self.width_met() && self.passed.is_some_and(|passed| passed >= self.max),
            at_min,
            failed,
            timed_out: self.timed_out,
            trials: self.trials,
            wall_s: self.wall.as_secs_f64(),
        }
    }

    fn left(&self) -> Left {
        let Some(next) = self.next else {
            return Left::default();
        };
        let high = self.failed.unwrap_or(self.max).max(next);
        // Halvings until something passes are unknown; four take a guess at a path that
        // carries a sixteenth of the highest load.
        let gap = self.passed.map_or(1.0, |passed| (high - passed) / high);
        let halvings = (gap / self.resolution).log2().ceil().max(1.0);
        let trials = halvings as u32 + if self.passed.is_some() { 0 } else { 4 };
        Left {
            trials,
            seconds: f64::from(trials) * self.trial.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests;
