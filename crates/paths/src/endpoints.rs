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

use nicety_netdev::link::{LinkChange, Links, VethEnd};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

use crate::endpoint_site::{EndpointSite, MOST_NEIGHBOURS};
use crate::interface::CARRIER_LIMIT;

/// What lies between the two namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// One veth pair.
    Veth,
    /// A kernel bridge in a namespace of its own.
    Bridge,
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
                links.set_up("a")?;
                Links::open(&b)?.set_up("b")?;
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
        links.set_up("br0")?;
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

/// Sets the interface up and gives it addresses.
fn settle(ns: NetNs, interface: &str, number: u8) -> Result<EndpointSite, NetError> {
    let links = Links::open(&ns)?;
    links.set_up("lo")?;
    links.set_up(interface)?;
    links.wait_carrier(interface, CARRIER_LIMIT)?;
    EndpointSite::address(ns, interface, number)
}
