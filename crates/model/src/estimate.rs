//! A number with its interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A throughput with the interval that it is known to.
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
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<f64>,
    /// Visits apart in time that it rests on.
    pub visits: u32,
}

impl Estimate {
    /// Half the interval over the number: `0.03` for ± 3 %.
    pub fn half_width(&self) -> f64 {
        match self.fps > 0.0 {
            true => (self.high_fps - self.low_fps) / (2.0 * self.fps),
            false => f64::INFINITY,
        }
    }
}
