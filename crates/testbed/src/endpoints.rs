//! Two namespaces with addresses, for programs that talk through sockets.
//!
//! ```text
//!  veth:    namespace A: a ------------------------------ b :namespace B
//!  bridge:  namespace A: a --- d0 - br0 - d1 (namespace DUT) --- b :namespace B
//! ```
//!
//! A bridge may have neighbours: more pairs of namespaces on ports `d2`, `d3` and so on.
//!
//! Unlike the paths for test frames the interfaces keep the features the kernel gives them
//! (segmentation offload, checksum offload, no NAPI thread), as those of containers and of VMs'
//! taps do. Frames travel in the sender's own system call and the softirq after it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nicety_host::link::{LinkChange, Links, VethEnd};
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;

use crate::veth::CARRIER_LIMIT;

/// What lies between the two namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// One veth pair.
    Veth,
    /// A kernel bridge in a namespace of its own.
    Bridge,
}

/// One of the two namespaces.
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

/// Both namespaces; gone when dropped.
#[derive(Debug)]
pub struct Endpoints {
    /// Namespace A, the client's.
    pub a: EndpointSite,
    /// Namespace B, the server's.
    pub b: EndpointSite,
    /// Namespace of the bridge.
    pub dut: Option<NetNs>,
    /// More pairs on the same bridge.
    pub neighbours: Vec<[EndpointSite; 2]>,
}

impl Endpoints {
    /// Builds them and waits for carrier.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] for an ordinary user outside a user namespace of his own,
    /// [`NetError::Unsupported`] when the kernel lacks veth or bridge.
    pub fn build(between: Between) -> Result<Self, NetError> {
        match between {
            Between::Veth => {
                let (a, b) = (NetNs::create("A")?, NetNs::create("B")?);
                let links = Links::open(&a)?;
                links.add_veth(VethEnd::plain(&a, "a"), VethEnd::plain(&b, "b"))?;
                // Neither end has carrier before the other is up.
                links.change("a", &UP)?;
                Links::open(&b)?.change("b", &UP)?;
                Ok(Self {
                    a: settle(a, "a", 1)?,
                    b: settle(b, "b", 2)?,
                    dut: None,
                    neighbours: Vec::new(),
                })
            }
            Between::Bridge => Self::with_neighbours(0),
        }
    }

    /// As [`Endpoints::build`] with a bridge, and `pairs` more pairs on it, at most 100.
    ///
    /// # Errors
    /// As those of [`Endpoints::build`].
    pub fn with_neighbours(pairs: u32) -> Result<Self, NetError> {
        let dut = NetNs::create("DUT")?;
        let links = Links::open(&dut)?;
        links.add_bridge("br0")?;
        let bridge = links.get("br0")?.index;
        links.change("br0", &UP)?;
        let join = |name: &str, port, inner: &str, number| {
            let ns = NetNs::create(name)?;
            links.add_veth(VethEnd::plain(&dut, inner), VethEnd::plain(&ns, port))?;
            let change = LinkChange {
                up: Some(true),
                master: Some(bridge),
                ..LinkChange::default()
            };
            links.change(inner, &change)?;
            settle(ns, port, number)
        };
        let mut neighbours = Vec::new();
        let (a, b) = (join("A", "a", "d0", 1)?, join("B", "b", "d1", 2)?);
        for pair in 0..pairs.min(MOST_NEIGHBOURS) {
            let number = 2 * pair as u8;
            let near = join("neighbour", "a", &format!("d{}", number + 2), number + 3)?;
            let far = join("neighbour", "b", &format!("d{}", number + 3), number + 4)?;
            neighbours.push([near, far]);
        }
        Ok(Self {
            a,
            b,
            dut: Some(dut),
            neighbours,
        })
    }
}

/// Most pairs of neighbours: the addresses of one /24.
pub(crate) const MOST_NEIGHBOURS: u32 = 100;

/// Sets the interface up and gives it addresses.
fn settle(ns: NetNs, interface: &str, number: u8) -> Result<EndpointSite, NetError> {
    let links = Links::open(&ns)?;
    links.change("lo", &UP)?;
    links.change(interface, &UP)?;
    links.wait_carrier(interface, CARRIER_LIMIT)?;
    EndpointSite::address(ns, interface, number)
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

pub(crate) const UP: LinkChange = LinkChange {
    up: Some(true),
    master: None,
    mtu: None,
    mac: None,
};
