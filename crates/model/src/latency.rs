//! One-way latency of the frames of a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Percentiles of one-way latency in microseconds, from a histogram of every frame received.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Load at which it was measured, as a share of the found throughput; absent when the
    /// trial was not at a fixed share of it.
    pub load_ratio: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Mean value.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest value.
    pub max: f64,
    /// Frames in the histogram.
    pub samples: u64,
}
