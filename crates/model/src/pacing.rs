//! How well the sender kept its schedule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sender's own account of its schedule in one trial.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PacingReport {
    /// Frames per second over the time the sender was sending.
    pub offered_fps: f64,
    /// From the first frame to the end of the last frame's slot, in seconds.
    pub sending_s: f64,
    /// Largest number of frames sent back to back to catch up.
    pub burst_max: u32,
    /// Times the schedule was moved because the sender fell too far behind to catch up
    /// without flooding the path.
    pub slips: u32,
    /// Sum of those moves, in seconds.
    pub slipped_s: f64,
    /// Longest single move, in seconds.
    pub slip_max_s: f64,
    /// Rests: pauses the sender made on purpose, so that the hypervisor makes none.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub rests: u32,
    /// Sum of the rests, in seconds; part of `sending_s`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub rested_s: f64,
    /// 99th percentile of how late a frame left after its slot, in µs.
    pub late_p99_us: f64,
    /// How late the worst frame left after its slot, in µs.
    pub late_max_us: f64,
    /// Frames the tester's own interface or socket refused and that were given up: never sent.
    pub refused: u64,
}

fn is_none(seconds: &f64) -> bool {
    *seconds == 0.0
}
