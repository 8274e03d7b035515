//! What a driver's XDP can do (the kernel's netdev family, Linux 6.3 and newer).

use netlink_sys::protocols::NETLINK_GENERIC;

use crate::genetlink::Family;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::RawMessage;

// include/uapi/linux/netdev.h
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const NETDEV_XDP_ACT_BASIC: u64 = 1;
const NETDEV_XDP_ACT_NDO_XMIT: u64 = 4;
const NETDEV_XDP_ACT_XSK_ZEROCOPY: u64 = 8;

/// What a driver's XDP can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XdpFeatures {
    /// Runs programs in the driver.
    pub native: bool,
    /// Sends the frames of programs on other interfaces, and live frames.
    pub sends: bool,
    /// AF_XDP sockets without copying.
    pub zero_copy: bool,
}

/// Asks for the interface with number `index` of `ns`.
///
/// # Errors
/// [`NetError::NotFound`] without the interface, or on kernels that do not tell.
pub fn read(ns: &NetNs, index: u32) -> Result<XdpFeatures, NetError> {
    const OPERATION: &str = "read XDP features of interface";
    let channel = Channel::open(ns, NETLINK_GENERIC)?;
    let error = |e| NetError::new(OPERATION, index, e);
    let family = Family::find(&channel, "netdev").map_err(error)?;
    let mut request = RawMessage::genl(family, NETDEV_CMD_DEV_GET);
    request.put_u32(NETDEV_A_DEV_IFINDEX, index);
    let answers = channel.query(request, 0).map_err(error)?;
    let bits = answers
        .iter()
        .find_map(|answer| answer.u64(NETDEV_A_DEV_XDP_FEATURES))
        .ok_or_else(|| error(std::io::Error::from_raw_os_error(libc::ENOENT)))?;
    Ok(of_bits(bits))
}

fn of_bits(bits: u64) -> XdpFeatures {
    let has = |bit| bits & bit != 0;
    XdpFeatures {
        native: has(NETDEV_XDP_ACT_BASIC),
        sends: has(NETDEV_XDP_ACT_NDO_XMIT),
        zero_copy: has(NETDEV_XDP_ACT_XSK_ZEROCOPY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_told_apart() {
        // igb of Linux 6.14: basic, redirect, ndo_xmit, zero copy.
        let igb = of_bits(0b1111);
        assert!(igb.native && igb.sends && igb.zero_copy);
        // virtio-net: basic, redirect, ndo_xmit only with queues to spare.
        let virtio = of_bits(0b0011);
        assert!(virtio.native && !virtio.sends && !virtio.zero_copy);
    }
}
