//! Memory and huge pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Memory of the host.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoryFacts {
    /// What the kernel manages, in MiB.
    pub total_mib: Option<u64>,
    /// Reserved huge pages of each node and size; those of size 0 pages left out.
    pub hugepages: Vec<HugePages>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent: Option<String>,
    /// When transparent huge pages are made by compaction: `madvise`, `defer`, …
    pub transparent_defrag: Option<String>,
}

/// Huge pages of one node and size.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HugePages {
    /// Node; absent on a machine without nodes.
    pub node: Option<u32>,
    /// Size of a page in KiB.
    pub size_kib: u64,
    /// Pages.
    pub total: u64,
    /// Free pages.
    pub free: u64,
}
