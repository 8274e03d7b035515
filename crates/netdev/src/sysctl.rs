//! Kernel settings of a network namespace (/proc/sys/net).

use std::io::ErrorKind;

use crate::net_error::NetError;
use crate::netns::NetNs;

/// Switches IPv6 off for the namespace's present and future interfaces, so that no neighbour
/// discovery mixes into a measurement. Does nothing on a kernel without IPv6.
///
/// # Errors
/// [`NetError::NotPermitted`] when /proc/sys is read-only, as in some containers.
pub fn disable_ipv6(ns: &NetNs) -> Result<(), NetError> {
    set_disable_ipv6(ns, "1")
}

/// Takes [`disable_ipv6`] back.
///
/// # Errors
/// As those of [`disable_ipv6`].
pub fn enable_ipv6(ns: &NetNs) -> Result<(), NetError> {
    set_disable_ipv6(ns, "0")
}

fn set_disable_ipv6(ns: &NetNs, value: &str) -> Result<(), NetError> {
    ns.run(|| {
        for scope in ["default", "all"] {
            // /proc/sys/net shows the namespace of the thread that opens the file.
            let path = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
            match std::fs::write(&path, value) {
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                other => other.map_err(|e| NetError::new("write", &path, e))?,
            }
        }
        Ok(())
    })?
}
