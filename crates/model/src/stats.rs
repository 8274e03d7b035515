//! Spread of repeats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Average, extremes and coefficient of variation of repeated measurements.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Arithmetic mean.
    pub ave: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation over mean; absent with fewer than two values or a mean of zero.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cv: Option<f64>,
    /// Number of values.
    pub n: u32,
}
