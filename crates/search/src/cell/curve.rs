//! What a cell does at shares of its throughput.

use std::time::Duration;

use nicety_model::{CurvePoint, Fps, LatencySummary, TrialRecord};

use super::Cell;

/// Load for one frame at a time, in frames per second: a path that takes less than a millisecond has
/// never two.
const ONE_AT_A_TIME: f64 = 1_000.0;
/// Least length of a trial with it: its 99th percentile needs a thousand frames.
const ONE_AT_A_TIME_TRIAL: Duration = Duration::from_millis(1_100);
/// Highest share of the throughput whose latency stands for the cell: above, queues fill.
const TYPICAL: f64 = 0.9;

impl Cell {
    /// Load and length of the trial at a share of the throughput `level`.
    pub(super) fn at_share(&self, level: Fps, share: f64) -> (Fps, Duration) {
        let length = self.plan.latency_trial;
        if share > 0.0 {
            (Fps(level.0 * share), length)
        } else {
            (
                Fps(ONE_AT_A_TIME.min(level.0)),
                length.max(ONE_AT_A_TIME_TRIAL),
            )
        }
    }

    /// Takes a trial at a share of the throughput.
    pub(super) fn at_load(&mut self, record: &TrialRecord, share: Option<f64>) {
        let latency = record.latency_us.map(|summary| LatencySummary {
            load_ratio: share,
            ..summary
        });
        self.latency.extend(latency);
        if let Some(load_ratio) = share.filter(|_| self.plan.curve) {
            self.curve.push(CurvePoint {
                load_ratio,
                load_fps: record.load_fps,
                forwarding_fps: record.forwarding_fps,
                loss_ratio: record.frames.loss_ratio(),
                latency_us: latency,
            });
        }
    }

    /// The latency that stands for the cell.
    pub(super) fn typical_latency(&self) -> Option<LatencySummary> {
        let usual = |latency: &&LatencySummary| {
            latency
                .load_ratio
                .is_none_or(|ratio| ratio <= TYPICAL + 1e-9)
        };
        let all = &self.latency;
        all.iter().rfind(usual).or(all.first()).copied()
    }
}
