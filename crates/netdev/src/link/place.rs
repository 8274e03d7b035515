//! Interfaces on other ones and in other namespaces.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_route::link::{
    InfoData, InfoIpVlan, InfoKind, InfoMacVlan, InfoMacVtap, InfoNetkit, IpVlanMode,
    LinkAttribute, LinkFlags, LinkMessage, MacVlanMode, MacVtapMode, NetkitMode,
};

use super::{Links, check_name, of_kind, of_name};
use crate::net_error::NetError;
use crate::netns::NetNs;

/// Which frames a macvlan or macvtap gets of the interface below it (Linux
/// include/uapi/linux/if_link.h, `enum macvlan_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All of them; nobody else can be on that interface.
    Passthru,
    /// Those for its own address; more of them may be there.
    Bridge,
    /// The same, and none from the others that are there.
    Private,
    /// As the bridge, but what goes to others that are there goes out first, to a switch that turns it round.
    Vepa,
}

/// On which layer an ipvlan works (`enum ipvlan_mode` of include/uapi/linux/if_link.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpvlanMode {
    /// Frames are told apart by IP address.
    L2,
    /// The host's routes send packets on.
    L3,
}

impl Links {
    /// Makes a macvlan on the interface with number `on`. It is down. It goes with the one below
    /// it, wherever it has been moved.
    ///
    /// # Errors
    /// As [`Links::add_veth`].
    pub fn add_macvlan(&self, name: &str, on: u32, share: Share) -> Result<(), NetError> {
        let mode = match share {
            Share::Passthru => MacVlanMode::Passthrough,
            Share::Bridge => MacVlanMode::Bridge,
            Share::Private => MacVlanMode::Private,
            Share::Vepa => MacVlanMode::Vepa,
        };
        let data = InfoData::MacVlan(vec![InfoMacVlan::Mode(mode)]);
        let mut message = of_kind(name, InfoKind::MacVlan, Some(data))?;
        message.attributes.push(LinkAttribute::Link(on));
        self.create("make macvlan", name, message)
    }

    /// Makes an ipvlan on the interface with number `on`, whose hardware address it has too. It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`]; [`NetError::Unsupported`] without the ipvlan driver.
    pub fn add_ipvlan(&self, name: &str, on: u32, mode: IpvlanMode) -> Result<(), NetError> {
        let mode = match mode {
            IpvlanMode::L2 => IpVlanMode::L2,
            IpvlanMode::L3 => IpVlanMode::L3,
        };
        let data = InfoData::IpVlan(vec![InfoIpVlan::Mode(mode)]);
        let mut message = of_kind(name, InfoKind::IpVlan, Some(data))?;
        message.attributes.push(LinkAttribute::Link(on));
        self.create("make ipvlan", name, message)
    }

    /// Makes a netkit pair: `name` here, and `peer` in `far`, which is the end of a container. On layer 3 neither has
    /// a hardware address. What no program of theirs decides goes through. Both are down.
    ///
    /// # Errors
    /// As [`Links::add_veth`]; [`NetError::Unsupported`] for a kernel without the netkit driver.
    pub fn add_netkit(
        &self,
        name: &str,
        (far, peer): (&NetNs, &str),
        layer3: bool,
    ) -> Result<(), NetError> {
        let mode = if layer3 {
            NetkitMode::L3
        } else {
            NetkitMode::L2
        };
        let mut other = of_name(peer)?;
        let there = LinkAttribute::NetNsFd(far.as_fd().as_raw_fd());
        other.attributes.push(there);
        let data = InfoData::Netkit(vec![InfoNetkit::Peer(other), InfoNetkit::Mode(mode)]);
        let message = of_kind(name, InfoKind::Netkit, Some(data))?;
        self.create("make netkit pair", name, message)
    }

    /// Makes a macvtap on the interface with number `on`. It is down, and its device is
    /// `/dev/tap<index>`.
    ///
    /// # Errors
    /// As [`Links::add_veth`]; [`NetError::Exists`] also when the number is taken.
    pub fn add_macvtap(
        &self,
        name: &str,
        on: u32,
        index: u32,
        share: Share,
    ) -> Result<(), NetError> {
        let mode = match share {
            Share::Passthru => MacVtapMode::Passthrough,
            Share::Bridge => MacVtapMode::Bridge,
            Share::Private => MacVtapMode::Private,
            Share::Vepa => MacVtapMode::Vepa,
        };
        let data = InfoData::MacVtap(vec![InfoMacVtap::Mode(mode)]);
        let mut message = of_kind(name, InfoKind::MacVtap, Some(data))?;
        message.header.index = index;
        message.attributes.push(LinkAttribute::Link(on));
        self.create("make macvtap", name, message)
    }

    /// Lets an interface take frames for every group, whatever its own kernel has joined.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`].
    pub fn take_groups(&self, name: &str) -> Result<(), NetError> {
        let mut message = of_name(name)?;
        message.header.change_mask = LinkFlags::Allmulti;
        message.header.flags = LinkFlags::Allmulti;
        self.set("change interface", name, message)
    }

    /// Moves an interface into another namespace, under the name `there`. It is down then.
    /// Hardware comes back to the host when that namespace goes.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Exists`], [`NetError::NotPermitted`].
    pub fn move_to(&self, name: &str, ns: &NetNs, there: &str) -> Result<(), NetError> {
        check_name(there)?;
        let mut message = LinkMessage::default();
        message.header.index = self.get(name)?.index;
        message.attributes = vec![
            LinkAttribute::NetNsFd(ns.as_fd().as_raw_fd()),
            LinkAttribute::IfName(there.to_owned()),
        ];
        self.set("move to another namespace interface", name, message)
    }
}
