//! What all interfaces made here have in common.

use std::time::Duration;

use nicety_host::link::LinkChange;

/// Longest time a new veth or bridge port may take to report carrier. The kernel does it within
/// the call or shortly after (net/core/link_watch.c: at most a second).
pub(crate) const CARRIER_LIMIT: Duration = Duration::from_secs(3);

/// Sets an interface up.
pub(crate) const UP: LinkChange = LinkChange {
    up: Some(true),
    master: None,
    mtu: None,
    mac: None,
};
