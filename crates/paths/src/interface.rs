//! What all interfaces made here have in common.

use std::time::Duration;

use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

/// Longest time a new veth or bridge port may take to report carrier. The kernel does it within
/// the call or shortly after (net/core/link_watch.c: at most a second).
pub(crate) const CARRIER_LIMIT: Duration = Duration::from_secs(3);

/// Sets an interface up, in a bridge where there is one.
pub(crate) fn up(master: Option<u32>) -> LinkChange {
    LinkChange {
        up: Some(true),
        master,
        ..LinkChange::default()
    }
}

/// Gives an interface to a bridge.
pub(crate) fn enslaved(bridge: u32) -> LinkChange {
    LinkChange {
        master: Some(bridge),
        ..LinkChange::default()
    }
}

/// Sets the only interface of a namespace up, and waits for its link.
pub(crate) fn raise(ns: &NetNs, interface: &str, limit: Duration) -> Result<Links, NetError> {
    let links = Links::open(ns)?;
    links.set_up("lo")?;
    links.set_up(interface)?;
    links.wait_carrier(interface, limit)?;
    Ok(links)
}
