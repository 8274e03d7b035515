//! A namespace with addresses, for programs that talk through sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

/// Most pairs of neighbours: the addresses of one /24.
pub(crate) const MOST_NEIGHBOURS: u32 = 100;

/// Where sockets end.
#[derive(Debug)]
pub struct EndpointSite {
    /// The namespace.
    pub ns: NetNs,
    /// Name of its interface.
    pub interface: String,
    /// Its IPv4 address.
    pub ipv4: IpAddr,
    /// Its IPv6 address; absent where the kernel has none.
    pub ipv6: Option<IpAddr>,
}

impl EndpointSite {
    /// Gives the interface, which is up, the addresses with this number.
    ///
    /// # Errors
    /// When the kernel refuses the IPv4 address.
    pub fn address(ns: NetNs, interface: &str, number: u8) -> Result<Self, NetError> {
        let links = Links::open(&ns)?;
        let ipv4 = Self::ipv4(number);
        links.add_address(interface, ipv4, 24)?;
        let ipv6 = Self::ipv6(number);
        let ipv6 = links.add_address(interface, ipv6, 64).ok().map(|()| ipv6);
        Ok(Self {
            ns,
            interface: interface.to_owned(),
            ipv4,
            ipv6,
        })
    }

    /// The IPv4 address with this number, in a network of 24 bits.
    ///
    /// 198.18.0.0/15 and 2001:2::/48 are for benchmarks (RFC 2544 C.2.2, RFC 5180 §8).
    pub fn ipv4(number: u8) -> IpAddr {
        Ipv4Addr::new(198, 18, 0, number).into()
    }

    /// The IPv6 address with this number, in a network of 64 bits.
    pub fn ipv6(number: u8) -> IpAddr {
        Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, u16::from(number)).into()
    }
}
