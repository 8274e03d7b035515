//! What a bisection found out about one revision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::compare::Metric;

/// Which of two known sides a revision is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BisectSide {
    /// Like the good runs: exit code 0.
    Good,
    /// Like the bad ones: exit code 1.
    Bad,
    /// Cannot be told: exit code 125, which has `git bisect run` skip the revision.
    CannotTell,
}

/// The object that `nicety bisect --json` prints.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bisected {
    /// Schema version.
    pub schema: u32,
    /// The answer.
    pub side: BisectSide,
    /// Why it cannot be told.
    pub reason: Option<String>,
    /// The cell that was measured.
    pub cell: String,
    /// The number that was looked at.
    pub metric: Metric,
    /// What the revision measured, in the metric's unit, in order.
    pub numbers: Vec<f64>,
    /// Mean of the good runs.
    pub good: f64,
    /// Mean of the bad ones.
    pub bad: f64,
    /// Evidence that the revision is not in the middle, as a Bayes factor; enough at 1 over the error.
    pub factor: f64,
    /// Highest chance of an error that was asked for.
    pub error: f64,
}
