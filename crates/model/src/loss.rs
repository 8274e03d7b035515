//! Where frames were lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line of the loss ledger: a counter on the way that moved during the trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossEntry {
    /// The counter, named as its owner names it: `d1 rx_dropped`, `cpu1 softnet dropped`;
    /// `unexplained` for the rest.
    #[serde(rename = "where")]
    pub place: String,
    /// Frames it counted during the trial.
    pub frames: u64,
}
