//! Interfaces that pack frames in packets and send these over another interface.
//!
//! The packets are sent and received in the namespace in which an interface was made, wherever it has been moved
//! (`vxlan->net` in drivers/net/vxlan/vxlan_core.c, and likewise in the others).

use std::net::Ipv4Addr;

use netlink_packet_route::link::{InfoData, InfoGeneve, InfoGre, InfoKind, InfoVxlan};

use super::{Links, of_kind};
use crate::net_error::NetError;

/// Two addresses between which packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between {
    /// That of the end to be made.
    pub local: Ipv4Addr,
    /// That of the other.
    pub remote: Ipv4Addr,
}

/// Port of VXLAN (RFC 7348 §8). The kernel's own default is an older one.
const VXLAN_PORT: u16 = 4789;

impl Links {
    /// Makes an end of a VXLAN tunnel (RFC 7348) to one other end, without checksums of UDP, as usual. It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`], of the vxlan driver.
    pub fn add_vxlan(&self, name: &str, id: u32, ends: Between) -> Result<(), NetError> {
        let data = InfoData::Vxlan(vec![
            InfoVxlan::Id(id),
            InfoVxlan::Local(ends.local),
            InfoVxlan::Group(ends.remote),
            InfoVxlan::Port(VXLAN_PORT),
            InfoVxlan::UDPCsum(false),
        ]);
        let message = of_kind(name, InfoKind::Vxlan, Some(data))?;
        self.create("make VXLAN interface", name, message)
    }

    /// Makes an end of a Geneve tunnel (RFC 8926) to one other end. It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`], of the geneve driver.
    pub fn add_geneve(&self, name: &str, id: u32, remote: Ipv4Addr) -> Result<(), NetError> {
        let data = InfoData::Geneve(vec![InfoGeneve::Id(id), InfoGeneve::Remote(remote)]);
        let message = of_kind(name, InfoKind::Geneve, Some(data))?;
        self.create("make Geneve interface", name, message)
    }

    /// Makes an end of a GRE tunnel that carries Ethernet (gretap). It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`], of the ip_gre driver.
    pub fn add_gretap(&self, name: &str, ends: Between) -> Result<(), NetError> {
        let data = InfoData::GreTap(vec![
            InfoGre::Local(ends.local),
            InfoGre::Remote(ends.remote),
        ]);
        let message = of_kind(name, InfoKind::GreTap, Some(data))?;
        self.create("make GRE interface", name, message)
    }

    /// Makes a WireGuard interface without keys or peers, see [`crate::wireguard`]. It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`], of the wireguard driver.
    pub fn add_wireguard(&self, name: &str) -> Result<(), NetError> {
        let message = of_kind(name, InfoKind::Wireguard, None)?;
        self.create("make WireGuard interface", name, message)
    }
}
