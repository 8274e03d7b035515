//! What a path does at shares of its throughput: the curve that people plot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::latency::LatencySummary;
use crate::units::LossRatio;
/// Highest load of a curve, in per cent of the throughput.
pub const MAX_LOAD_PERCENT: u32 = 200;

/// One load of a curve.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Share of the throughput that was offered, `0.0..=2.0`; 0 for one frame at a time.
    pub load_ratio: f64,
    /// Load in frames per second and direction.
    pub load_fps: f64,
    /// Frames per second and direction that arrived.
    pub forwarding_fps: f64,
    /// Lost over sent.
    pub loss_ratio: LossRatio,
    /// One-way latency of the frames that arrived.
    pub latency_us: Option<LatencySummary>,
}
