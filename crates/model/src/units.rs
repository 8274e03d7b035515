//! Rates and ratios as types, so that no call mixes up two bare numbers.

use derive_more::Display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frames per second, per direction.
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, Display, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[display("{_0:.0} fps")]
pub struct Fps(pub f64);

impl Fps {
    /// Frames that this rate sends in `seconds`, rounded to the nearest whole frame.
    pub fn frames_in(self, seconds: f64) -> u64 {
        (self.0 * seconds).round().max(0.0) as u64
    }
}

/// Lost frames divided by the frames of the intended load, in `0.0..=1.0` (RFC 1242 §3.6).
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, Display, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[display("{:.4} %", _0 * 100.0)]
pub struct LossRatio(pub f64);

impl LossRatio {
    /// Loss of `lost` out of `intended` frames; no frames means no loss.
    pub fn of(lost: u64, intended: u64) -> Self {
        if intended == 0 {
            return Self(0.0);
        }
        Self((lost as f64 / intended as f64).clamp(0.0, 1.0))
    }
}
