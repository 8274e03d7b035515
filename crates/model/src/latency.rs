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

/// Samples beyond a percentile that make it one: with fewer it is the largest value or close to it.
const BEYOND: f64 = 10.0;

impl LatencySummary {
    /// Whether there are samples enough for the percentile that the share `beyond` exceeds, 0 to 1: 0.001
    /// for the 99.9th, which needs 10,000.
    pub fn knows(&self, beyond: f64) -> bool {
        self.samples as f64 * beyond >= BEYOND * (1.0 - 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        for (beyond, least) in [(0.5, 20), (0.1, 100), (0.01, 1000), (0.001, 10_000)] {
            let of = |samples| LatencySummary {
                samples,
                ..LatencySummary::default()
            };
            assert!(
                of(least).knows(beyond) && !of(least - 1).knows(beyond),
                "{beyond}"
            );
        }
    }
}
