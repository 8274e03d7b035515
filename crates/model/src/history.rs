//! The history of runs: what is kept of each run, and how a cell changed over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::compare::{Difference, Metric};
use crate::note::Note;
use crate::verdict::Verdict;

/// A run that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptRun {
    /// Number in the store, for commands.
    pub id: i64,
    /// Name of the plan.
    pub name: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Search preset.
    pub preset: String,
    /// Loss goal.
    pub loss_goal: f64,
    /// Whether every cell of the plan has a result.
    pub complete: bool,
    /// Cells with a result.
    pub cells: u32,
    /// Cells whose verdict is `ok` or `wide`.
    pub cells_ok: u32,
    /// Version of nicety.
    pub nicety: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// Labels, sorted.
    pub labels: Vec<String>,
    /// Bytes kept.
    pub stored_bytes: u64,
}

/// `nicety runs list --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// Schema version.
    pub schema: u32,
    /// Where they are kept.
    pub store: String,
    /// The runs, newest first.
    pub runs: Vec<KeptRun>,
}

/// One run's number in a trend.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendPoint {
    /// The run.
    pub id: i64,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Geometric mean over the repeats; absent when none has a number.
    pub value: Option<f64>,
    /// Smallest repeat.
    pub min: Option<f64>,
    /// Largest repeat.
    pub max: Option<f64>,
    /// Repeats with a number.
    pub repeats: u32,
    /// Worst verdict of the repeats; only `ok` ones count for changes.
    pub verdict: Verdict,
    /// Labels of the run.
    pub labels: Vec<String>,
}

/// A place where the numbers change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendChange {
    /// First run with the new level.
    pub id: i64,
    /// Its start.
    pub started: String,
    /// Geometric mean of the stretch before.
    pub before: f64,
    /// Geometric mean of the stretch from here on.
    pub after: f64,
    /// `after / before`.
    pub ratio: f64,
    /// Chance that runs in another order would show as large a change.
    pub p: f64,
    /// Differences between the last run before and the first after.
    pub differences: Vec<Difference>,
}

/// A cell over the runs of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// Schema version.
    pub schema: u32,
    /// Name of the cell.
    pub cell: String,
    /// Metric.
    pub metric: Metric,
    /// Search preset of the runs.
    pub preset: String,
    /// The loss goal that is followed.
    pub loss_goal: f64,
    /// What the runs call it; absent where they have one goal only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub goal: Option<String>,
    /// The numbers, oldest first.
    pub points: Vec<TrendPoint>,
    /// Where they change, oldest first.
    pub changes: Vec<TrendChange>,
    /// Runs that have the cell but searched with another preset or goal.
    pub left_out: u32,
    /// What a reader should know.
    pub notes: Vec<Note>,
}

/// A number of a cell of one run, over its repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of the cell.
    pub cell: String,
    /// Metric.
    pub metric: Metric,
    /// Geometric mean; absent when no repeat has a number.
    pub mean: Option<f64>,
    /// Smallest repeat.
    pub min: Option<f64>,
    /// Largest repeat.
    pub max: Option<f64>,
    /// Repeats with a number.
    pub repeats: u32,
    /// Worst verdict of the repeats.
    pub verdict: Verdict,
}
