//! Bursts at the highest rate, after the latency trials.

use std::time::Duration;

use nicety_model::{BackToBack, Fps, TrialRecord, Validity};

use super::Cell;
use crate::burst::Shot;

impl Cell {
    /// Rate of the bursts, and length of one of so many frames: what the tester has offered on this path, which
    /// may be less than without it.
    pub(super) fn burst(&self, frames: u64) -> (Fps, Duration) {
        let rate = self.highest();
        (rate, Duration::from_secs_f64(frames as f64 / rate.0))
    }

    /// The highest rate.
    pub(super) fn highest(&self) -> Fps {
        let most = self.plan.max.0;
        Fps(if self.reached > 0.0 {
            self.reached.min(most)
        } else {
            most
        })
    }

    /// The longest burst without loss, and the buffer.
    pub(super) fn back_to_back(&self) -> Option<BackToBack> {
        self.bursts.outcome(self.level())
    }
}

/// What a burst did; `None` where it does not count. A burst of which frames are lost in the path counts
/// however fast it was: a faster one loses as many.
pub(super) fn shot(record: &TrialRecord) -> Option<Shot> {
    let counted = matches!(
        record.validity,
        Validity::Valid | Validity::LoadMissed { .. }
    );
    // Of both directions the bursts are as long.
    let directions = record.streams.len().max(1) as u64;
    let frames = record.frames.sent / directions;
    (counted && frames > 0).then_some(Shot {
        frames,
        lost: record.frames.lost > 0,
        rate: Fps(record.pacing.offered_fps),
    })
}
