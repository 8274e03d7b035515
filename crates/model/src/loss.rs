//! Where frames were lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::fate::FateCause;

/// One line of the loss ledger: a counter on the way that moved during the trial, or a cause found
/// by the numbers of the frames.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossEntry {
    /// The counter, named as its owner names it: `d1 rx_dropped`, `cpu1 softnet dropped`; where fates
    /// were found, interface and function of the kernel: `d1 veth_xmit`; `unexplained` for the rest.
    #[serde(rename = "where")]
    pub place: String,
    /// Frames it counted during the trial.
    pub frames: u64,
    /// Why these frames were lost; absent where counters alone tell of them.
    pub cause: Option<FateCause>,
}

impl LossEntry {
    /// What a counter says.
    pub fn counted(place: impl Into<String>, frames: u64) -> Self {
        Self {
            place: place.into(),
            frames,
            cause: None,
        }
    }

    /// What was found by the frames' numbers.
    pub fn found(cause: FateCause, frames: u64) -> Self {
        Self {
            place: cause.place(),
            frames,
            cause: Some(cause),
        }
    }
}
