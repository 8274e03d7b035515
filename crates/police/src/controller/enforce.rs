//! Whether a limit holds a port.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the counters say of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Enforcement {
    /// The port has not tried to exceed it.
    #[default]
    Untested,
    /// The port sends as much as the limit lets it.
    Holds,
    /// The port sends more for several periods.
    NotEnforced,
}
