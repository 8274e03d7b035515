//! Estimate of the time that a cell still needs.

use super::{Cell, RESET_S, Stage};
use crate::machine::Left;

impl Cell {
    /// A guess at what is still to come, wall time included: overhead per trial is taken from
    /// the trials so far, or half a second.
    pub fn left(&self) -> Left {
        let confirm = self.plan.settings.confirm.as_secs_f64();
        let shares = self.plan.latency_shares.len();
        let each = self.plan.latency_trial.as_secs_f64();
        let latency = |done: usize| {
            (
                shares.saturating_sub(done) as u32,
                (shares - done.min(shares)) as f64 * each,
            )
        };
        let mut left = match self.stage {
            Stage::WarmUp(_) => {
                let left = self.search.left();
                Left {
                    trials: left.trials + 1,
                    seconds: left.seconds + self.plan.warm_up.as_secs_f64(),
                }
            }
            Stage::Search => self.search.left(),
            _ => Left::default(),
        };
        let confirms = match self.stage {
            Stage::WarmUp(_) | Stage::Search => u32::from(confirm > 0.0 && self.confirm.is_none()),
            Stage::EarlyConfirm(_) | Stage::Confirm(_) | Stage::Further(..) => 1,
            Stage::Latency(_)
            | Stage::Burst
            | Stage::Recovery
            | Stage::Fate(_)
            | Stage::Reset
            | Stage::Ended => 0,
        };
        let fate = self.plan.settings.fate.as_secs_f64();
        let fates = match self.stage() {
            Stage::Reset | Stage::Ended => 0,
            Stage::Fate(number) => self.fates_wanted().len().saturating_sub(number) as u32,
            _ if fate > 0.0 => 1 + u32::from(self.plan.settings.hops),
            _ => 0,
        };
        let (latencies, latency_s) = match self.stage {
            Stage::Burst | Stage::Recovery | Stage::Fate(_) | Stage::Reset | Stage::Ended => {
                (0, 0.0)
            }
            Stage::Latency(number) => latency(number),
            _ => latency(0),
        };
        let bursts = match self.stage {
            Stage::Recovery | Stage::Fate(_) | Stage::Reset | Stage::Ended => 0,
            _ => self.bursts.left(),
        };
        let recoveries = match self.stage {
            Stage::Fate(_) | Stage::Reset | Stage::Ended => 0,
            _ => self.recoveries.left(),
        };
        let resets = match self.stage {
            Stage::Ended => 0,
            _ => self.resets.left(),
        };
        left.trials += confirms + latencies + fates + bursts + recoveries + resets;
        left.seconds += f64::from(confirms) * confirm + latency_s + f64::from(fates) * fate;
        left.seconds += f64::from(recoveries) * self.recoveries.each_s();
        left.seconds += f64::from(resets) * RESET_S;
        let overhead = if self.index > 0 {
            ((self.wall_s - self.traffic_s) / f64::from(self.index)).max(0.0)
        } else {
            0.5
        };
        left.seconds += f64::from(left.trials) * overhead;
        left
    }
}
