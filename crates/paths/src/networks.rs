//! Networks of the tester's two sides, and a namespace between them that routes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nicety_netdev::link::{LinkChange, Mac};
use nicety_netdev::net_error::NetError;
use nicety_netdev::route::{self, Prefix, Routes, Table};
use nicety_netdev::sysctl;

use crate::site::Site;

/// One side of the tester as a router sees it, in one IP version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    /// Interface of the router that faces it.
    pub(crate) interface: &'static str,
    /// Where the tester's addresses are (RFC 2544 appendix C.2.2, RFC 5180 §8 as corrected).
    pub(crate) network: Prefix,
    /// The router's own address on the link to it (RFC 5737, RFC 5180), with the length of its prefix.
    pub(crate) own: (IpAddr, u8),
    /// The tester's address there, by way of which its network is reached: one neighbour, however many flows.
    pub(crate) gateway: IpAddr,
}

impl Side {
    /// Address of a host of its network.
    pub(crate) fn host(&self, number: u16) -> IpAddr {
        match self.network.address {
            IpAddr::V4(four) => Ipv4Addr::from(u32::from(four) + u32::from(number)).into(),
            IpAddr::V6(six) => Ipv6Addr::from(u128::from(six) + u128::from(number)).into(),
        }
    }
}

/// Sides A and B of IPv4.
const FOUR: [Side; 2] = [
    Side {
        interface: "d0",
        network: four(198, 18, 0, 0, 16),
        own: (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 30),
        gateway: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
    },
    Side {
        interface: "d1",
        network: four(198, 19, 0, 0, 16),
        own: (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 5)), 30),
        gateway: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 6)),
    },
];

/// Sides A and B of IPv6.
const SIX: [Side; 2] = [
    Side {
        interface: "d0",
        network: six(0xa),
        own: (link(0xc, 1), 64),
        gateway: link(0xc, 2),
    },
    Side {
        interface: "d1",
        network: six(0xb),
        own: (link(0xd, 1), 64),
        gateway: link(0xd, 2),
    },
];

const fn four(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Prefix {
    Prefix {
        address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        bits,
    }
}

const fn six(side: u16) -> Prefix {
    Prefix {
        address: link(side, 0),
        bits: 64,
    }
}

const fn link(side: u16, host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, side, 0, 0, 0, host))
}

/// Sides A and B of an IP version.
pub(crate) fn sides(ipv6: bool) -> &'static [Side; 2] {
    if ipv6 { &SIX } else { &FOUR }
}

/// Lets the site route between the tester's networks over `d0` and `d1`, which are up. `stations` are the tester's, A
/// and B: the router answers to the addresses that frames are sent to anyway, so that no tester has to know of it, and
/// sends on to them without asking.
pub(crate) fn connect(site: &Site, stations: [Mac; 2], ipv6: bool) -> Result<Routes, NetError> {
    if ipv6 {
        sysctl::enable_quiet_ipv6(&site.ns)?;
    }
    route::forward(&site.ns)?;
    let routes = Routes::open(&site.ns)?;
    let [a, b] = stations;
    for (side, (near, far)) in sides(ipv6).iter().zip([(a, b), (b, a)]) {
        let mac = LinkChange {
            mac: Some(far),
            ..LinkChange::default()
        };
        site.links.change(side.interface, &mac)?;
        let (address, bits) = side.own;
        site.links.add_address(side.interface, address, bits)?;
        let index = site.links.get(side.interface)?.index;
        routes.add_neighbour(index, side.gateway, near)?;
        routes.add(side.network, index, Some(side.gateway), Table::Main)?;
    }
    Ok(routes)
}
