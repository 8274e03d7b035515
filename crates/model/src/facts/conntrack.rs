//! The table of tracked connections.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// How full the table is (net/netfilter/nf_conntrack_standalone.c). Of one network namespace.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConntrackFacts {
    /// Entries there are (`nf_conntrack_count`).
    pub count: u64,
    /// Most there may be (`nf_conntrack_max`); 0 means no limit.
    pub max: u64,
    /// Buckets of the hash (`nf_conntrack_buckets`).
    pub buckets: Option<u64>,
    /// Counters since boot that are not 0, all CPUs together, as /proc/net/stat/nf_conntrack names
    /// them: `drop`, `early_drop`, `insert_failed`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}
