//! Loads that a cell measures beside its search: the common result of its visits, and lower
//! loads if that did not hold.

use nicety_model::{Fps, TrialRecord};

use super::Cell;
use crate::stats::median;

/// How far a confirm trial that follows a failed one stays below what that one forwarded.
const BELOW_FORWARDED: f64 = 0.98;
/// Confirm trials after one that failed.
const FURTHER: u32 = 2;
/// Share of the load for the last of them, where whole trials are judged. A pause loses frames once
/// they outnumber the queue: a little less load loses nearly as many, a third less fills a queue
/// that overflowed in 3 ms only after 4.3 ms.
const STEP_DOWN: f64 = 0.7;

impl Cell {
    /// Median of the throughput that this visit and the earlier ones found.
    pub(super) fn level(&self) -> Option<Fps> {
        let own = self.search.outcome().throughput?;
        let all: Vec<f64> = self.plan.earlier.iter().map(|fps| fps.0).collect();
        median(&[all, vec![own.0]].concat()).map(Fps)
    }

    /// Load for the confirm trial after number `number` (0 is the first), which lost too much:
    /// a little below what it forwarded. `None` after the last.
    pub(super) fn lower_load(&self, record: &TrialRecord, number: u32) -> Option<Fps> {
        if number >= FURTHER {
            return None;
        }
        let below = record.load_fps * BELOW_FORWARDED;
        let load = (self.forwarded(record).0 * BELOW_FORWARDED).min(below);
        let strict = !self.plan.settings.judges_windows();
        let first = self
            .confirm
            .as_ref()
            .map_or(load, |confirm| confirm.load_fps);
        Some(Fps(if strict && number + 1 == FURTHER {
            load.min(first * STEP_DOWN)
        } else {
            load
        }))
    }
}
