//! A namespace with addresses, for programs that talk through sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::route::{Prefix, Routes, Table};
use nicety_netdev::sysctl;

use crate::networks::sides;
use crate::rig::END_MACS;

/// Most pairs of neighbours: the addresses of one /24.
pub(crate) const MOST_NEIGHBOURS: u32 = 100;

/// Number of an end's address in its network behind a router: above those that an ipvlan has already.
const ROUTED_HOST: u16 = 250;

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

    /// Gives the interface, which is up, an address in the network of side `side` of a router, 0 for A and 1 for B, and
    /// a route of one IP version to the other side. The router has the hardware address of the other end.
    ///
    /// # Errors
    /// When the kernel refuses an address or the route.
    pub fn behind_router(
        ns: NetNs,
        interface: &str,
        side: usize,
        ipv6: bool,
    ) -> Result<Self, NetError> {
        if ipv6 {
            sysctl::enable_quiet_ipv6(&ns)?;
        }
        let links = Links::open(&ns)?;
        let host = |ipv6: bool| sides(ipv6)[side].host(ROUTED_HOST);
        let ipv4 = host(false);
        links.add_address(interface, ipv4, 32)?;
        let ipv6_address = ipv6.then(|| host(true));
        if let Some(address) = ipv6_address {
            links.add_address(interface, address, 128)?;
        }
        let (near, far) = (&sides(ipv6)[side], &sides(ipv6)[1 - side]);
        let router = near.own.0;
        let index = links.get(interface)?.index;
        let routes = Routes::open(&ns)?;
        routes.add_neighbour(index, router, END_MACS[1 - side])?;
        let alone = Prefix {
            address: router,
            bits: if ipv6 { 128 } else { 32 },
        };
        routes.add(alone, index, None, Table::Main)?;
        routes.add(far.network, index, Some(router), Table::Main)?;
        Ok(Self {
            ns,
            interface: interface.to_owned(),
            ipv4,
            ipv6: ipv6_address,
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
