//! System recovery (RFC 2544 §26.5): trials that overload a path, and what they found.

use std::time::Duration;

use nicety_model::recovery::Then;
use nicety_model::{Fps, LoadStep, Recovery, TrialRecord, Validity};

use crate::stats::middle;

/// Trials: RFC 2544 takes the mean of several. One that other programs disturb moves no median of five.
pub const REPEATS: u32 = 5;
/// Overload, and load from the step on, as shares of the throughput and of the overload (RFC 2544 §26.5).
const OVERLOAD: f64 = 1.1;
const THEN: f64 = 0.5;
/// Trials that do not count after which it is given up: each is long.
const MISSES: u32 = 3;
/// Time watched from the step on, as a share of the overload, and its bounds.
const WATCHED: f64 = 0.1;
const WATCHED_MIN: Duration = Duration::from_millis(500);
const WATCHED_MAX: Duration = Duration::from_secs(10);
/// A path whose last lost frame was sent behind this share of the time watched has not recovered in it.
const LATE: f64 = 0.9;

/// The trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecoveryTrials {
    overload: Duration,
    seen: Vec<LoadStep>,
    load_fps: f64,
    misses: u32,
}

impl RecoveryTrials {
    /// Trials that overload for so long; none where that is zero.
    pub(crate) fn new(overload: Duration) -> Self {
        Self {
            overload,
            seen: Vec::new(),
            load_fps: 0.0,
            misses: 0,
        }
    }

    /// Trials that are still to come.
    pub(crate) fn left(&self) -> u32 {
        if self.overload.is_zero() || self.misses >= MISSES {
            0
        } else {
            REPEATS.saturating_sub(self.seen.len() as u32)
        }
    }

    /// Length of each in seconds.
    pub(crate) fn each_s(&self) -> f64 {
        (self.overload + self.watched()).as_secs_f64()
    }

    /// Load, its length and what it becomes, on a path with this throughput to which the tester offers at most
    /// `highest`.
    pub(crate) fn ask(&self, throughput: Fps, highest: Fps) -> (Fps, Duration, Then) {
        let load = (throughput.0 * OVERLOAD).min(highest.0.max(throughput.0));
        let then = Then {
            load: Fps(load * THEN),
            duration: self.watched(),
        };
        (Fps(load), self.overload, then)
    }

    /// Takes a trial.
    pub(crate) fn observe(&mut self, record: &TrialRecord) {
        // A sender that does not keep up may overload the path all the same.
        let counted = matches!(
            record.validity,
            Validity::Valid | Validity::LoadMissed { .. }
        );
        match record.step.filter(|_| counted) {
            Some(step) => {
                self.load_fps = record.load_fps;
                self.seen.push(step);
            }
            None => self.misses += 1,
        }
    }

    /// Whether it was given up without a result.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.misses >= MISSES && self.seen.is_empty()
    }

    /// What was found, on a path with this throughput that may lose this share of all frames.
    pub(crate) fn outcome(&self, throughput: Fps, goal: f64) -> Option<Recovery> {
        let first = self.seen.first()?;
        let overloaded = self.seen.iter().filter(|step| {
            let lost = step.lost_before as f64;
            lost > 0.0 && lost > goal * step.sent_before as f64
        });
        let late = |step: &LoadStep| {
            let last = step.last_lost_s.unwrap_or(0.0);
            last > LATE * step.after_s
        };
        let times: Vec<f64> = overloaded
            .clone()
            .map(|step| step.last_lost_s.unwrap_or(0.0).max(0.0))
            .collect();
        let not_recovered = overloaded.filter(|step| late(step)).count();
        let (recovery_s, recovery_interval_s) = middle(&times);
        let ratio = self.load_fps / throughput.0;
        Some(Recovery {
            overload_fps: self.load_fps,
            overload_ratio: ratio,
            at_highest: ratio < OVERLOAD * (1.0 - 1e-6),
            then_fps: first.then_fps,
            overload_s: self.overload.as_secs_f64(),
            watched_s: self.watched().as_secs_f64(),
            trials: self.seen.len() as u32,
            overloaded: times.len() as u32,
            not_recovered: not_recovered as u32,
            recovery_s,
            recovery_interval_s,
            at_least: 2 * not_recovered > times.len(),
            resolution_s: 1.0 / first.then_fps,
        })
    }

    fn watched(&self) -> Duration {
        self.overload
            .mul_f64(WATCHED)
            .clamp(WATCHED_MIN, WATCHED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THROUGHPUT: Fps = Fps(1e5);

    fn step(lost_before: u64, last_lost_s: Option<f64>) -> LoadStep {
        LoadStep {
            then_fps: 55_000.0,
            before_s: 60.0,
            after_s: 6.0,
            sent_before: 6_600_000,
            lost_before,
            lost_after: 0,
            last_lost_s,
        }
    }

    fn trials(steps: &[LoadStep]) -> RecoveryTrials {
        RecoveryTrials {
            seen: steps.to_vec(),
            load_fps: 1.1e5,
            ..RecoveryTrials::new(Duration::from_secs(60))
        }
    }

    #[test]
    fn a_tenth_more_becomes_half_and_no_more_than_there_is() {
        let trials = RecoveryTrials::new(Duration::from_secs(60));
        let (load, length, then) = trials.ask(THROUGHPUT, Fps(1e6));
        assert!((load.0 - 1.1e5).abs() < 1e-6);
        assert_eq!((length.as_secs(), then.duration.as_secs()), (60, 6));
        assert!((then.load.0 - 5.5e4).abs() < 1e-6);
        assert_eq!(trials.ask(THROUGHPUT, Fps(1.05e5)).0, Fps(1.05e5));
        // Nothing was sent faster than what passed.
        assert_eq!(trials.ask(THROUGHPUT, Fps(9e4)).0, THROUGHPUT);
        let short = RecoveryTrials::new(Duration::from_secs(2));
        let watched = short.ask(THROUGHPUT, Fps(1e6)).2.duration;
        assert_eq!(watched.as_millis(), 500);
        assert_eq!(RecoveryTrials::new(Duration::ZERO).left(), 0);
    }

    #[test]
    fn the_median_of_the_overloaded_trials_counts() {
        let steps = [
            step(90_000, Some(0.002)),
            step(90_000, Some(-0.001)),
            step(90_000, Some(0.003)),
            step(90_000, Some(5.9)),
            step(0, None),
        ];
        let found = trials(&steps).outcome(THROUGHPUT, 1e-4).unwrap();
        assert_eq!((found.trials, found.overloaded), (5, 4));
        assert_eq!((found.not_recovered, found.at_least), (1, false));
        assert_eq!(found.recovery_s, Some(0.0025));
        assert_eq!(found.recovery_interval_s, Some((0.0, 5.9)));
        assert!(!found.at_highest && (found.overload_ratio - 1.1).abs() < 1e-9);
        assert_eq!(found.resolution_s, 1.0 / 55_000.0);
    }

    #[test]
    fn a_path_that_is_not_overloaded_has_no_recovery_time() {
        // As many frames as the goal allows are no overload.
        let steps = [step(0, None), step(600, Some(0.5))];
        let found = trials(&steps).outcome(THROUGHPUT, 1e-4).unwrap();
        assert_eq!((found.trials, found.overloaded), (2, 0));
        assert_eq!((found.recovery_s, found.recovery_interval_s), (None, None));
        assert!(!found.at_least);
        let late = [step(9_000, Some(5.8)), step(9_000, Some(5.9))];
        assert!(trials(&late).outcome(THROUGHPUT, 1e-4).unwrap().at_least);
        assert_eq!(trials(&[]).outcome(THROUGHPUT, 1e-4), None);
    }
}
