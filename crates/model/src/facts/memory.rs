//! Memory and huge pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory of the host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoryFacts {
    /// What the kernel manages, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_mib: Option<u64>,
    /// Reserved huge pages of each node and size; those of size 0 pages left out.
    pub hugepages: Vec<HugePages>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transparent: Option<String>,
    /// When transparent huge pages are made by compaction: `madvise`, `defer`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transparent_defrag: Option<String>,
}

/// Huge pages of one node and size.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HugePages {
    /// Node; absent on a machine without nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Size of a page in KiB.
    pub size_kib: u64,
    /// Pages.
    pub total: u64,
    /// Free pages.
    pub free: u64,
}
