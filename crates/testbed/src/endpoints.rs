//! Two namespaces with addresses, for programs that talk through sockets.
//!
//! ```text
//!  veth:    namespace A: a ------------------------------ b :namespace B
//!  bridge:  namespace A: a --- d0 - br0 - d1 (namespace DUT) --- b :namespace B
//! ```
//!
//! Unlike the paths for test frames the interfaces keep the features the kernel gives them
//! (segmentation offload, checksum offload, no NAPI thread), as those of containers and of VMs'
//! taps do. Frames travel in the sender's own system call and the softirq after it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nicety_host::link::{LinkChange, Links, VethEnd};
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;

use crate::veth::CARRIER_LIMIT;

const MTU: u32 = 1500;

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
    pub interface: &'static str,
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
}

impl Endpoints {
    /// Builds them and waits for carrier.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] for an ordinary user outside a user namespace of his own,
    /// [`NetError::Unsupported`] when the kernel lacks veth or bridge.
    pub fn build(between: Between) -> Result<Self, NetError> {
        let (a, b) = (NetNs::create("A")?, NetNs::create("B")?);
        let (links_a, links_b) = (Links::open(&a)?, Links::open(&b)?);
        let mut dut = None;
        match between {
            Between::Veth => links_a.add_veth(end(&a, "a"), end(&b, "b"))?,
            Between::Bridge => {
                let middle = NetNs::create("DUT")?;
                let links = Links::open(&middle)?;
                links.add_bridge("br0")?;
                let bridge = links.get("br0")?.index;
                for (ns, port, inner) in [(&a, "a", "d0"), (&b, "b", "d1")] {
                    links.add_veth(end(&middle, inner), end(ns, port))?;
                    links.change(
                        inner,
                        &LinkChange {
                            up: Some(true),
                            master: Some(bridge),
                            ..LinkChange::default()
                        },
                    )?;
                }
                links.change("br0", &UP)?;
                dut = Some(middle);
            }
        }
        for links in [&links_a, &links_b] {
            links.change("lo", &UP)?;
        }
        links_a.change("a", &UP)?;
        links_b.change("b", &UP)?;
        let site = |ns, links: &Links, interface, number| -> Result<EndpointSite, NetError> {
            links.wait_carrier(interface, CARRIER_LIMIT)?;
            // 198.18.0.0/15 and 2001:2::/48 are for benchmarks (RFC 2544 C.2.2, RFC 5180 §8).
            let ipv4 = IpAddr::from(Ipv4Addr::new(198, 18, 0, number));
            links.add_address(interface, ipv4, 24)?;
            let ipv6 = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, u16::from(number));
            let ipv6 = links
                .add_address(interface, ipv6.into(), 64)
                .ok()
                .map(|()| ipv6.into());
            Ok(EndpointSite {
                ns,
                interface,
                ipv4,
                ipv6,
            })
        };
        Ok(Self {
            a: site(a, &links_a, "a", 1)?,
            b: site(b, &links_b, "b", 2)?,
            dut,
        })
    }
}

const UP: LinkChange = LinkChange {
    up: Some(true),
    master: None,
    mtu: None,
    mac: None,
};

fn end<'a>(ns: &'a NetNs, name: &'a str) -> VethEnd<'a> {
    VethEnd {
        ns,
        name,
        mtu: MTU,
        queues: 1,
        mac: None,
    }
}
