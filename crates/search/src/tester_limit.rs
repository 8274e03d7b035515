//! The tester's own limit: what it sends and counts without a path, found by steps down.

use std::time::Duration;

use nicety_model::{Fps, TrialRecord, Validity};

/// Length of one trial.
pub const TRIAL: Duration = Duration::from_millis(300);
/// More than any engine sends: the first trial finds out what "as fast as it can" is.
const FLAT_OUT: Fps = Fps(50e6);
/// Trials at most, the first included.
const TRIALS: u32 = 9;
/// Step down after a trial that lost frames.
const STEP: f64 = 0.87;
/// Largest loss of a trial that still shows what the tester can do. It is not the goal: frames
/// that die while the machine stops the pair's receiving thread say nothing about the tester.
const LOSS: f64 = 0.01;
/// Lowest load worth trying, and lowest limit worth the name, in frames per second.
const LEAST: f64 = 1.0;

/// Rate of the tester without a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Frames per second and direction that it sends, receives and counts.
    pub load: Fps,
    /// Frames were lost at every load tried, as happens where the machine is not quiet: this is the
    /// most that was counted.
    pub lossy: bool,
}

/// Result of a trial of the tester alone.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    /// Load that was sent, per direction.
    offered: f64,
    /// Rate that arrived, per direction.
    forwarded: f64,
    /// Whether hardly any frame was lost.
    clean: bool,
}

/// The search for the limit.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitSearch {
    index: u32,
    load: Fps,
    carried: Fps,
    clean: Option<Fps>,
}

impl Default for LimitSearch {
    fn default() -> Self {
        Self {
            index: 1,
            load: FLAT_OUT,
            carried: Fps(0.0),
            clean: None,
        }
    }
}

impl LimitSearch {
    /// Number and load of the next trial, from 1; `None` when the limit is found.
    pub fn next(&self) -> Option<(u32, Fps)> {
        let more = self.clean.is_none() && self.index <= TRIALS && self.load.0 >= LEAST;
        more.then_some((self.index, self.load))
    }

    /// Takes the result of the requested trial.
    pub fn observe(&mut self, record: &TrialRecord) {
        self.see(Seen {
            offered: record.pacing.offered_fps,
            forwarded: record.forwarding_fps,
            clean: record.validity == Validity::Valid && record.loss_ratio.0 <= LOSS,
        });
    }

    fn see(&mut self, seen: Seen) {
        if seen.clean {
            self.clean = Some(self.load);
            return;
        }
        let both = seen.offered.min(seen.forwarded);
        self.carried = Fps(self.carried.0.max(both));
        self.load = match self.index {
            1 => Fps(both),
            _ => Fps((self.load.0 * STEP).min(seen.offered)),
        };
        self.index += 1;
    }

    /// The limit; `None` when nothing was counted.
    pub fn limit(&self) -> Option<Limit> {
        let (load, lossy) = match self.clean {
            Some(load) => (load, false),
            None => (self.carried, true),
        };
        (!lossy || load.0 >= LEAST).then_some(Limit { load, lossy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the search on a tester that sends `most` at most and loses `lost` of what it sends above
    /// `clean`; returns the loads tried too.
    fn search(most: f64, clean: f64, lost: f64) -> (Vec<f64>, Option<Limit>) {
        let (mut search, mut loads) = (LimitSearch::default(), Vec::new());
        while let Some((index, load)) = search.next() {
            loads.push(load.0);
            assert_eq!(index as usize, loads.len());
            let offered = load.0.min(most);
            let fine = offered <= clean;
            search.see(Seen {
                offered,
                forwarded: if fine {
                    offered
                } else {
                    offered * (1.0 - lost)
                },
                // A trial that could not send its load is not valid.
                clean: fine && offered >= load.0,
            });
        }
        (loads, search.limit())
    }

    #[test]
    fn the_limit_is_the_first_load_without_loss() {
        for (most, clean, lost, trials, limit) in [
            // All that can be sent is counted.
            (1e6, 1e6, 0.0, 2, Some((1e6, false))),
            // What arrived flat out is tried next, and then steps of 13 %.
            (1e6, 0.9e6, 0.1, 2, Some((0.9e6, false))),
            (1e6, 0.8e6, 0.1, 3, Some((0.783e6, false))),
            // Always lossy: the most that was counted.
            (1e6, 0.0, 0.1, 9, Some((0.9e6, true))),
            // Nothing arrives, nothing is sent.
            (1e6, 0.0, 1.0, 1, None),
            (0.0, 0.0, 0.0, 1, None),
        ] {
            let (loads, estimate) = search(most, clean, lost);
            assert_eq!(loads.len(), trials, "{loads:?}");
            let estimate = estimate.map(|limit| (limit.load.0.round(), limit.lossy));
            assert_eq!(estimate, limit, "{loads:?}");
        }
    }
}
