//! Spread of repeats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Average, extremes and coefficient of variation of repeated measurements.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Arithmetic mean.
    pub ave: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation over mean; absent with fewer than two values or a mean of zero.
    pub cv: Option<f64>,
    /// Number of values.
    pub n: u32,
}
