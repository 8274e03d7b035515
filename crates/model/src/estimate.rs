//! A number with its interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A throughput with the interval that it is known to.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median of the visits, in frames per second and direction.
    pub fps: f64,
    /// Lower end of the interval.
    pub low_fps: f64,
    /// Upper end of the interval.
    pub high_fps: f64,
    /// Probability, `0.0..1.0`, with which the interval covers the median of all visits that
    /// might have been made (order statistics of independent visits); absent where the interval
    /// comes from inside one visit, which promises nothing.
    pub confidence: Option<f64>,
    /// Visits apart in time that it rests on.
    pub visits: u32,
}

impl Estimate {
    /// Half the interval over the number: `0.03` for ± 3 %.
    pub fn half_width(&self) -> f64 {
        if self.fps > 0.0 {
            (self.high_fps - self.low_fps) / (2.0 * self.fps)
        } else {
            f64::INFINITY
        }
    }
}
