//! Reset (RFC 2544 §26.6, RFC 6201): trials in which a path is reset, and what they found.

use nicety_model::{Outage, ResetTime, TrialRecord, Validity};

use crate::stats::{median, middle};

/// Trials: those of a guest take a boot each.
pub const REPEATS: u32 = 3;
/// Trials that do not count after which it is given up.
const MISSES: u32 = 2;

/// The trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResetTrials {
    repeats: u32,
    seen: Vec<Outage>,
    load_fps: f64,
    misses: u32,
}

impl ResetTrials {
    /// So many trials.
    pub(crate) fn new(repeats: u32) -> Self {
        Self {
            repeats,
            seen: Vec::new(),
            load_fps: 0.0,
            misses: 0,
        }
    }

    /// Trials that are still to come: none on a path that did not come back.
    pub(crate) fn left(&self) -> u32 {
        let gone = self.seen.iter().any(|outage| !outage.back);
        if gone || self.misses >= MISSES {
            0
        } else {
            self.repeats.saturating_sub(self.seen.len() as u32)
        }
    }

    /// Takes a trial.
    pub(crate) fn observe(&mut self, record: &TrialRecord) {
        let counted = matches!(
            record.validity,
            Validity::Valid | Validity::LoadMissed { .. }
        );
        match record.outage.filter(|_| counted) {
            Some(outage) => {
                self.load_fps = record.load_fps;
                self.seen.push(outage);
            }
            None => self.misses += 1,
        }
    }

    /// Whether it was given up without a result.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.misses >= MISSES && self.seen.is_empty()
    }

    /// What was found.
    pub(crate) fn outcome(&self) -> Option<ResetTime> {
        let first = self.seen.first()?;
        let back = || self.seen.iter().filter(|outage| outage.back);
        let times: Vec<f64> = back().map(|outage| outage.outage_s).collect();
        let by_loss: Vec<f64> = back().map(|outage| outage.by_loss_s).collect();
        let (outage_s, outage_interval_s) = middle(&times);
        Some(ResetTime {
            by: first.by,
            load_fps: self.load_fps,
            trials: self.seen.len() as u32,
            not_back: (self.seen.len() - times.len()) as u32,
            limit_s: first.limit_s,
            outage_s,
            outage_interval_s,
            by_loss_s: median(&by_loss),
            resolution_s: 1.0 / self.load_fps,
        })
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::ResetKind;

    use super::*;

    fn outage(outage_s: f64, back: bool) -> Outage {
        Outage {
            by: ResetKind::BridgeDownUp,
            outage_s,
            frames: 10,
            by_loss_s: outage_s * 1.1,
            back,
            limit_s: 10.0,
        }
    }

    fn trials(seen: &[Outage]) -> ResetTrials {
        ResetTrials {
            seen: seen.to_vec(),
            load_fps: 1e4,
            ..ResetTrials::new(REPEATS)
        }
    }

    #[test]
    fn the_median_and_the_extremes_are_told() {
        let seen = [0.2, 0.1, 0.4].map(|s| outage(s, true));
        let found = trials(&seen).outcome().unwrap();
        assert_eq!(found.outage_s, Some(0.2));
        assert_eq!(found.outage_interval_s, Some((0.1, 0.4)));
        assert!((found.by_loss_s.unwrap() - 0.22).abs() < 1e-12);
        assert_eq!((found.trials, found.not_back), (3, 0));
        assert_eq!(found.resolution_s, 1e-4);
        assert_eq!(trials(&seen).left(), 0);
        assert_eq!(trials(&[]).outcome(), None);
    }

    #[test]
    fn a_path_that_does_not_come_back_is_reset_no_more() {
        let gone = trials(&[outage(0.2, true), outage(9.9, false)]);
        assert_eq!(gone.left(), 0);
        let found = gone.outcome().unwrap();
        assert_eq!((found.trials, found.not_back), (2, 1));
        // The time that it was watched is no reset time.
        assert_eq!(found.outage_s, Some(0.2));
        let found = trials(&[outage(9.9, false)]).outcome().unwrap();
        assert_eq!((found.outage_s, found.outage_interval_s), (None, None));
        assert_eq!(ResetTrials::new(0).left(), 0);
    }
}
