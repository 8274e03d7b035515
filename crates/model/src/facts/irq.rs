//! Interrupts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// One interrupt of an interface.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IrqFacts {
    /// Number.
    pub irq: u32,
    /// Name of its handler: `eth0-TxRx-3`.
    pub name: String,
    /// Interface.
    pub interface: String,
    /// Interrupts since boot by CPU, CPUs that had none left out.
    pub counts: std::collections::BTreeMap<u32, u64>,
    /// CPUs it may go to.
    pub affinity: Vec<u32>,
    /// CPUs it does go to.
    pub effective: Vec<u32>,
    /// The driver's hint.
    pub hint: Vec<u32>,
    /// Placed by the kernel, which refuses other placements.
    pub managed: Option<bool>,
}

impl IrqFacts {
    /// Interrupts since boot.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}
