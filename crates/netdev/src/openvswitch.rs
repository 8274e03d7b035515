//! Open vSwitch: whether the kernel can carry frames for it, and the limits of its own ports.

mod policing;

pub use policing::Policing;

use netlink_sys::protocols::NETLINK_GENERIC;

use crate::genetlink::Family;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;

/// Generic netlink family of the datapath (`OVS_DATAPATH_FAMILY`,
/// include/uapi/linux/openvswitch.h).
const DATAPATH: &str = "ovs_datapath";

/// Whether the kernel has the openvswitch datapath. Asking loads its module where there is one
/// (`request_module` in net/netlink/genetlink.c).
///
/// # Errors
/// When the kernel does not answer; that it has no such family is an answer.
pub fn has_kernel_datapath(ns: &NetNs) -> Result<bool, NetError> {
    let channel = Channel::open(ns, NETLINK_GENERIC)?;
    match Family::find(&channel, DATAPATH) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(NetError::new("find netlink family", DATAPATH, error)),
    }
}
