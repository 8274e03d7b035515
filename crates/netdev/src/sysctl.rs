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

/// As [`enable_ipv6`], with interfaces that say nothing by themselves: they make up no address for the link, and report
/// the groups that they are in to nobody within an hour (net/ipv6/mcast.c, `unsolicited_report_interval`).
///
/// # Errors
/// As those of [`disable_ipv6`].
pub fn enable_quiet_ipv6(ns: &NetNs) -> Result<(), NetError> {
    const QUIET: [(&str, &str); 3] = [
        ("addr_gen_mode", "1"),
        ("mldv1_unsolicited_report_interval", "3600000"),
        ("mldv2_unsolicited_report_interval", "3600000"),
    ];
    ns.run(|| {
        let scopes = match std::fs::read_dir(CONF) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            scopes => scopes.map_err(|e| NetError::new("read", CONF, e))?,
        };
        for scope in scopes.flatten() {
            for (setting, value) in QUIET {
                let path = scope.path().join(setting);
                std::fs::write(&path, value)
                    .map_err(|e| NetError::new("write", path.display(), e))?;
            }
        }
        Ok(())
    })??;
    enable_ipv6(ns)
}

/// Settings of IPv6 by interface.
const CONF: &str = "/proc/sys/net/ipv6/conf";

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
