//! What is known about a run beside its plan, its machine and its results.

use std::collections::BTreeMap;

use nicety_model::cell::SkippedCell;
use nicety_model::run::{RunHead, StoppedBy};
use nicety_model::{Fingerprint, LimitKey, Note, SCHEMA, limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunMeta {
    /// Schema version.
    pub schema: u32,
    /// Name of the plan.
    pub name: String,
    /// Start of the first session, RFC 3339 in UTC.
    pub started: String,
    /// Seed of the random cell order.
    pub seed: u64,
    /// Search preset.
    pub preset: String,
    /// How loads were judged and searched, see [`RunHead::estimator`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub estimator: Option<String>,
    /// Loss goal.
    pub loss_goal: f64,
    /// Command line to repeat the run.
    pub command: String,
    /// Wall time so far in seconds, over all sessions.
    #[serde(default)]
    pub elapsed_s: f64,
    /// Whether every cell of the plan has a result.
    #[serde(default)]
    pub complete: bool,
    /// Why it stopped before, see [`RunHead::stopped_by`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stopped_by: Option<StoppedBy>,
    /// Said once for the whole run.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// Cells that could not be built here.
    #[serde(default)]
    pub skipped: Vec<SkippedCell>,
    /// Cells the time box or an interruption left out.
    #[serde(default)]
    pub left_out: Vec<String>,
}

impl RunMeta {
    /// The head of the [`nicety_model::Run`] object.
    pub fn head(&self, host: Fingerprint) -> RunHead {
        RunHead {
            name: self.name.clone(),
            started: self.started.clone(),
            elapsed_s: self.elapsed_s,
            seed: self.seed,
            preset: self.preset.clone(),
            estimator: self.estimator.clone(),
            loss_goal: self.loss_goal,
            command: self.command.clone(),
            complete: self.complete,
            stopped_by: self.stopped_by,
            host,
            notes: self.notes.clone(),
        }
    }
}

/// `tester.json`: what the tester reaches without a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TesterLimits {
    /// Schema version.
    pub schema: u32,
    /// Engine that was measured.
    pub engine: String,
    /// Limit in frames per second, by frame size in bytes.
    #[serde(serialize_with = "limit::in_order_of_text")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub limit_fps: BTreeMap<LimitKey, f64>,
    /// What a reader should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

impl Default for TesterLimits {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            engine: String::new(),
            limit_fps: BTreeMap::new(),
            notes: Vec::new(),
        }
    }
}
