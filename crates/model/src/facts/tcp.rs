//! TCP connections of the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Established connections to other hosts, without addresses.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpFacts {
    /// How many there are.
    pub connections: u32,
    /// How many of them have carried 100 MB or more.
    pub busy: u32,
    /// Round trip time of the farthest busy one in ms: the smallest it has had, which is that of
    /// the path without queues.
    pub rtt_ms: Option<f64>,
}
