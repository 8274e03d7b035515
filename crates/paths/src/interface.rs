//! What all interfaces made here have in common.

use std::time::Duration;

/// Longest time a new veth or bridge port may take to report carrier. The kernel does it within
/// the call or shortly after (net/core/link_watch.c: at most a second).
pub(crate) const CARRIER_LIMIT: Duration = Duration::from_secs(3);
