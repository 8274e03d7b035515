//! Interfaces on other ones and in other namespaces, and the addresses they take frames for.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoMacVlan, InfoMacVtap, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
    MacVlanMode, MacVtapMode,
};

use super::{Links, Mac, check_name};
use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::raw::RawMessage;

const RTM_NEWNEIGH: u16 = 28;
/// Fields of `struct ndmsg` (include/uapi/linux/neighbour.h).
const AF_BRIDGE: u8 = 7;
const NUD_PERMANENT: u16 = 0x80;
const NTF_SELF: u8 = 0x02;
const NDA_LLADDR: u16 = 2;

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
}

impl Links {
    /// Makes a macvlan on the interface with number `on`. It is down. It goes with the one below
    /// it, wherever it has been moved.
    ///
    /// # Errors
    /// As [`Links::add_veth`].
    pub fn add_macvlan(&self, name: &str, on: u32, share: Share) -> Result<(), NetError> {
        check_name(name)?;
        let mode = match share {
            Share::Passthru => MacVlanMode::Passthrough,
            Share::Bridge => MacVlanMode::Bridge,
            Share::Private => MacVlanMode::Private,
        };
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Link(on),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::MacVlan),
                LinkInfo::Data(InfoData::MacVlan(vec![InfoMacVlan::Mode(mode)])),
            ]),
        ];
        self.create(message)
            .map_err(|e| self.error("make macvlan", name, e))
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
        check_name(name)?;
        let mode = match share {
            Share::Passthru => MacVtapMode::Passthrough,
            Share::Bridge => MacVtapMode::Bridge,
            Share::Private => MacVtapMode::Private,
        };
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Link(on),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::MacVtap),
                LinkInfo::Data(InfoData::MacVtap(vec![InfoMacVtap::Mode(mode)])),
            ]),
        ];
        self.create(message)
            .map_err(|e| self.error("make macvtap", name, e))
    }

    /// Lets an interface take frames for every group, whatever its own kernel has joined.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`].
    pub fn take_groups(&self, name: &str) -> Result<(), NetError> {
        check_name(name)?;
        let mut message = LinkMessage::default();
        message.header.change_mask = LinkFlags::Allmulti;
        message.header.flags = LinkFlags::Allmulti;
        message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        self.channel
            .change(RouteNetlinkMessage::SetLink(message), 0)
            .map_err(|e| self.error("change interface", name, e))
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
        self.channel
            .change(RouteNetlinkMessage::SetLink(message), 0)
            .map_err(|e| self.error("move to another namespace interface", name, e))
    }

    /// Lets an interface take frames for one more station, beside its own address: an entry in
    /// its own table, as of `bridge fdb add … self`.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Exists`], or what the driver says when its table is
    /// full.
    pub fn add_station(&self, name: &str, station: Mac) -> Result<(), NetError> {
        let index = self.get(name)?.index;
        let mut header = [0; 12];
        header[0] = AF_BRIDGE;
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
        header[10] = NTF_SELF;
        let mut message = RawMessage::new(RTM_NEWNEIGH, &header);
        message.put(NDA_LLADDR, &station.0);
        self.channel
            .change(message, NLM_F_CREATE | NLM_F_EXCL)
            .map_err(|e| self.error("add a station to", name, e))
    }
}
