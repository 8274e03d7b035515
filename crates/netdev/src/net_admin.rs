//! Whether this process may change interfaces and their limits, as the kernel answers it.

use libc::RTM_DELQDISC;
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::tc::{ROOT, tc};

/// No interface has this number: the kernel counts up from 1 (net/core/dev.c, `dev_index_reserve`).
const NOBODY: u32 = i32::MAX as u32;

/// Refuses to begin `what`, as in `police run`, without the right to change `ns`.
///
/// The kernel is asked to remove a queueing discipline of an interface that does not exist. It checks the
/// capability before it looks for the interface (net/core/rtnetlink.c, `rtnetlink_rcv_msg`). Its answer
/// therefore also covers user namespaces and security modules, which the capabilities of the process do not.
///
/// # Errors
/// [`NetError::NoNetAdmin`] without the right, and when the kernel cannot be asked.
pub fn require(ns: &NetNs, what: &str) -> Result<(), NetError> {
    let channel = Channel::open(ns, NETLINK_ROUTE)?;
    match channel.change(tc(RTM_DELQDISC, NOBODY, 0, ROOT, 0), 0) {
        Ok(()) => Ok(()),
        Err(source) => match NetError::new("ask for rights in", ns, source) {
            NetError::NotPermitted { .. } => Err(NetError::NoNetAdmin {
                what: what.to_owned(),
                remedy: remedy(rustix::process::geteuid().is_root()),
            }),
            error if error.is_not_found() => Ok(()),
            error => Err(error),
        },
    }
}

/// Root lacks the capability in a container or in a user namespace only.
fn remedy(root: bool) -> &'static str {
    if root {
        "start the container with --cap-add NET_ADMIN, or run nicety as root of the host"
    } else {
        "run it with sudo, or give a copy of nicety the right: setcap cap_net_admin+ep FILE"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_gave_up_its_rights_is_told_what_to_do_as_any_user() {
        let asked = std::thread::spawn(|| {
            crate::privilege::give_up_capabilities().unwrap();
            require(&NetNs::current().unwrap(), "police run")
        });
        let error = asked.join().unwrap().unwrap_err();
        assert!(error.is_not_permitted());
        let said = error.to_string();
        assert!(
            said.starts_with("police run requires CAP_NET_ADMIN in this network namespace; "),
            "{said}"
        );
    }

    #[test]
    fn root_is_not_sent_to_sudo() {
        assert!(remedy(true).contains("--cap-add NET_ADMIN"));
        assert!(remedy(false).contains("sudo") && remedy(false).contains("setcap"));
    }
}
