//! Routes and neighbours of a namespace, and whether it sends on what is for others.

use std::io::ErrorKind;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::link::Mac;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;

/// A network: an address and the length of its prefix in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Its first address.
    pub address: IpAddr,
    /// Bits that all its addresses have in common, 0 to 32 or 128.
    pub bits: u8,
}

/// Which of a namespace's tables of routes is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// The usual one.
    Main,
    /// One of its own, 1 to 252, for packets that [`Routes::from`] names.
    Own(u8),
}

impl Table {
    fn number(self) -> u8 {
        match self {
            Self::Main => RouteHeader::RT_TABLE_MAIN,
            Self::Own(number) => number,
        }
    }
}

/// Lets a namespace send on packets that are for others, of both IP versions, also where the way back is not the way
/// they came. Does nothing for a version that the kernel has not.
///
/// # Errors
/// [`NetError::NotPermitted`] when /proc/sys is read-only, as in some containers.
pub fn forward(ns: &NetNs) -> Result<(), NetError> {
    const SETTINGS: [(&str, &str); 4] = [
        ("ipv4/ip_forward", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        ("ipv6/conf/all/forwarding", "1"),
    ];
    ns.run(|| {
        for (setting, value) in SETTINGS {
            // /proc/sys/net shows the namespace of the thread that opens the file.
            let path = format!("/proc/sys/net/{setting}");
            match std::fs::write(&path, value) {
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                other => other.map_err(|e| NetError::new("write", &path, e))?,
            }
        }
        Ok(())
    })?
}

/// The routes and neighbours of one namespace.
#[derive(Debug)]
pub struct Routes {
    channel: Channel,
    ns: NetNs,
}

impl Routes {
    /// Those of `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_ROUTE)?,
            ns: ns.clone(),
        })
    }

    /// Sends what goes to a network out of interface number `interface`, by way of `gateway` where there is one, which
    /// must be on that link.
    ///
    /// # Errors
    /// What the kernel says: the interface is down, the gateway is not on the link, there is such a route.
    pub fn add(
        &self,
        to: Prefix,
        interface: u32,
        gateway: Option<IpAddr>,
        table: Table,
    ) -> Result<(), NetError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(to.address);
        message.header.destination_prefix_length = to.bits;
        message.header.table = table.number();
        message.header.protocol = RouteProtocol::Static;
        message.header.kind = RouteType::Unicast;
        message.header.scope = match gateway {
            Some(_) => RouteScope::Universe,
            None => RouteScope::Link,
        };
        message.attributes = vec![
            RouteAttribute::Destination(route_address(to.address)),
            RouteAttribute::Oif(interface),
        ];
        let gateway = gateway.map(route_address).map(RouteAttribute::Gateway);
        message.attributes.extend(gateway);
        self.channel
            .change(
                RouteNetlinkMessage::NewRoute(message),
                NLM_F_CREATE | NLM_F_EXCL,
            )
            .map_err(|e| self.error("add route to", to.address, e))
    }

    /// Lets packets of one IP version that came in by an interface be routed by a table, where that has a route for them.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn from(&self, interface: &str, version: IpAddr, table: u8) -> Result<(), NetError> {
        let mut message = RuleMessage::default();
        message.header.family = family(version);
        message.header.table = table;
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![RuleAttribute::Iifname(interface.to_owned())];
        self.channel
            .change(
                RouteNetlinkMessage::NewRule(message),
                NLM_F_CREATE | NLM_F_EXCL,
            )
            .map_err(|e| NetError::new("add rule of routes for", self.ns.has(interface), e))
    }

    /// Says who has an address on the link of interface number `interface`, for good: nobody is asked.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add_neighbour(&self, interface: u32, address: IpAddr, mac: Mac) -> Result<(), NetError> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = interface;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(match address {
                IpAddr::V4(four) => NeighbourAddress::Inet(four),
                IpAddr::V6(six) => NeighbourAddress::Inet6(six),
            }),
            NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()),
        ];
        self.channel
            .change(
                RouteNetlinkMessage::NewNeighbour(message),
                NLM_F_CREATE | NLM_F_REPLACE,
            )
            .map_err(|e| self.error("add neighbour", address, e))
    }

    fn error(&self, operation: &'static str, address: IpAddr, source: std::io::Error) -> NetError {
        NetError::new(operation, self.ns.has(&address.to_string()), source)
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(four) => RouteAddress::Inet(four),
        IpAddr::V6(six) => RouteAddress::Inet6(six),
    }
}
