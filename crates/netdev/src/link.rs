//! Network interfaces: make, change, read, remove (rtnetlink).

mod address;
mod bundle;
mod counters;
mod forwarding;
mod name;
mod news;
mod place;
mod state;
mod tunnel;
mod vlan;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BridgeStpState, InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo,
    LinkMessage,
};
use netlink_sys::protocols::NETLINK_ROUTE;

pub use bundle::Bonding;
pub use counters::LinkCounters;
pub use name::check_name;
pub use news::LinkNews;
pub use place::{IpvlanMode, Share};
use state::link_of;
pub use state::{Link, Mac, OperState};
pub use tunnel::Between;

use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;

/// One end of a veth pair to be made.
#[derive(Debug, Clone, Copy)]
pub struct VethEnd<'a> {
    /// Namespace it goes to.
    pub ns: &'a NetNs,
    /// Name there.
    pub name: &'a str,
    /// MTU in bytes.
    pub mtu: u32,
    /// Receive and transmit queues, at least 1.
    pub queues: u32,
    /// Hardware address; the kernel makes one up when absent.
    pub mac: Option<Mac>,
}

impl<'a> VethEnd<'a> {
    /// An ordinary end: one queue, an MTU of 1500 bytes, an address that the kernel makes up.
    pub fn plain(ns: &'a NetNs, name: &'a str) -> Self {
        Self {
            ns,
            name,
            mtu: 1500,
            queues: 1,
            mac: None,
        }
    }
}

/// Changes to an interface; what is absent stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkChange {
    /// Set up or down.
    pub up: Option<bool>,
    /// Number of the bridge to join; 0 leaves it.
    pub master: Option<u32>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Hardware address.
    pub mac: Option<Mac>,
}

/// The interfaces of one namespace. Stays in that namespace whatever thread uses it.
#[derive(Debug)]
pub struct Links {
    channel: Channel,
    ns: NetNs,
}

impl Links {
    /// The interfaces of `ns`.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] when the namespace is not the caller's to enter.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_ROUTE)?,
            ns: ns.clone(),
        })
    }

    /// The namespace.
    pub fn ns(&self) -> &NetNs {
        &self.ns
    }

    /// One interface.
    ///
    /// # Errors
    /// [`NetError::BadName`], [`NetError::NotFound`].
    pub fn get(&self, name: &str) -> Result<Link, NetError> {
        let answers = self
            .channel
            .query(RouteNetlinkMessage::GetLink(of_name(name)?), 0)
            .map_err(|e| self.error("read interface", name, e))?;
        answers.into_iter().find_map(link_of).ok_or_else(|| {
            NetError::bad_reply("read interface", self.ns.has(name), "no link in it")
        })
    }

    /// All interfaces, in the kernel's order.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn list(&self) -> Result<Vec<Link>, NetError> {
        let message = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self
            .channel
            .query(message, NLM_F_DUMP)
            .map_err(|e| NetError::new("list interfaces of namespace", &self.ns, e))?;
        Ok(answers.into_iter().filter_map(link_of).collect())
    }

    /// Makes a veth pair; `self` only lends its socket, both ends go to the namespaces they
    /// name. Both are down.
    ///
    /// # Errors
    /// [`NetError::BadName`], [`NetError::Exists`], [`NetError::NotPermitted`],
    /// [`NetError::Unsupported`] without the veth driver.
    pub fn add_veth(&self, near: VethEnd<'_>, far: VethEnd<'_>) -> Result<(), NetError> {
        check_name(near.name)?;
        check_name(far.name)?;
        let mut peer = LinkMessage::default();
        peer.attributes = veth_attributes(&far);
        let mut message = LinkMessage::default();
        message.attributes = veth_attributes(&near);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        let pair = format!("{}-{}", near.name, far.name);
        self.create("make veth pair", &pair, message)
    }

    /// Makes a bridge that only forwards: no multicast snooping, no spanning tree, no forward
    /// delay; no VLAN filtering and address ageing as the kernel has it (300 s). It is down.
    ///
    /// # Errors
    /// As [`Self::add_veth`].
    pub fn add_bridge(&self, name: &str) -> Result<(), NetError> {
        // VLAN filtering is off unless switched on, and a kernel built without it refuses even
        // to be told so.
        self.add_bridge_with(name, Vec::new())
    }

    /// A bridge as of [`Self::add_bridge`] with more attributes.
    fn add_bridge_with(&self, name: &str, more: Vec<InfoBridge>) -> Result<(), NetError> {
        let mut attributes = vec![
            InfoBridge::ForwardDelay(0),
            InfoBridge::StpState(BridgeStpState::Disabled),
            InfoBridge::MulticastSnooping(false),
        ];
        attributes.extend(more);
        let data = InfoData::Bridge(attributes);
        let message = of_kind(name, InfoKind::Bridge, Some(data))?;
        self.create("make bridge", name, message)
    }

    /// Makes an intermediate functional block (drivers/net/ifb.c), which sends on what is
    /// redirected to it. It is down, and has the number asked for, else one of the kernel's choice.
    ///
    /// # Errors
    /// As [`Self::add_veth`], of the ifb driver.
    pub fn add_ifb(&self, name: &str, index: Option<u32>) -> Result<(), NetError> {
        let mut message = of_kind(name, InfoKind::Ifb, None)?;
        message.header.index = index.unwrap_or(0);
        self.create("make interface", name, message)
    }

    /// Sets an interface up.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn set_up(&self, name: &str) -> Result<(), NetError> {
        let up = LinkChange {
            up: Some(true),
            ..LinkChange::default()
        };
        self.change(name, &up)
    }

    /// Changes an interface.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`], or what the driver says.
    pub fn change(&self, name: &str, change: &LinkChange) -> Result<(), NetError> {
        let mut message = of_name(name)?;
        if let Some(up) = change.up {
            message.header.change_mask = LinkFlags::Up;
            if up {
                message.header.flags = LinkFlags::Up;
            }
        }
        message
            .attributes
            .extend(change.master.map(LinkAttribute::Controller));
        message
            .attributes
            .extend(change.mtu.map(LinkAttribute::Mtu));
        message
            .attributes
            .extend(change.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())));
        self.set("change interface", name, message)
    }

    /// Removes an interface; both ends of a veth pair go.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`].
    pub fn delete(&self, name: &str) -> Result<(), NetError> {
        self.channel
            .change(RouteNetlinkMessage::DelLink(of_name(name)?), 0)
            .map_err(|e| self.error("remove interface", name, e))
    }

    /// Waits until the interface is up and has carrier.
    ///
    /// # Errors
    /// [`NetError::TimedOut`] after `limit`.
    pub fn wait_carrier(&self, name: &str, limit: Duration) -> Result<Link, NetError> {
        let begin = Instant::now();
        loop {
            let link = self.get(name)?;
            if link.is_running() {
                return Ok(link);
            }
            if begin.elapsed() >= limit {
                return Err(NetError::TimedOut {
                    operation: "wait for carrier of",
                    object: self.ns.has(name),
                    after: limit,
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Counters of every interface, by name.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn counters(&self) -> Result<BTreeMap<String, LinkCounters>, NetError> {
        let links = self.list()?;
        Ok(links.into_iter().map(|l| (l.name, l.counters)).collect())
    }

    fn create(
        &self,
        operation: &'static str,
        name: &str,
        message: LinkMessage,
    ) -> Result<(), NetError> {
        let message = RouteNetlinkMessage::NewLink(message);
        self.channel
            .change(message, NLM_F_CREATE | NLM_F_EXCL)
            .map_err(|e| self.error(operation, name, e))
    }

    fn set(
        &self,
        operation: &'static str,
        name: &str,
        message: LinkMessage,
    ) -> Result<(), NetError> {
        self.channel
            .change(RouteNetlinkMessage::SetLink(message), 0)
            .map_err(|e| self.error(operation, name, e))
    }

    fn error(&self, operation: &'static str, name: &str, source: std::io::Error) -> NetError {
        NetError::new(operation, self.ns.has(name), source)
    }
}

/// A message about the interface of this name.
fn of_name(name: &str) -> Result<LinkMessage, NetError> {
    check_name(name)?;
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    Ok(message)
}

/// One to be made, of this kind, with what only such interfaces have.
fn of_kind(name: &str, kind: InfoKind, data: Option<InfoData>) -> Result<LinkMessage, NetError> {
    let mut message = of_name(name)?;
    let info = [LinkInfo::Kind(kind)].into_iter();
    let info = info.chain(data.map(LinkInfo::Data)).collect();
    message.attributes.push(LinkAttribute::LinkInfo(info));
    Ok(message)
}

fn veth_attributes(end: &VethEnd<'_>) -> Vec<LinkAttribute> {
    let mut attributes = vec![
        LinkAttribute::IfName(end.name.to_owned()),
        LinkAttribute::Mtu(end.mtu),
        LinkAttribute::NumTxQueues(end.queues),
        LinkAttribute::NumRxQueues(end.queues),
        LinkAttribute::NetNsFd(end.ns.as_fd().as_raw_fd()),
    ];
    attributes.extend(end.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())));
    attributes
}
/// Reads bytes as an answer about an interface.
#[doc(hidden)]
pub fn hostile(bytes: &[u8]) {
    let mut header = netlink_packet_core::NetlinkHeader::default();
    header.message_type = libc::RTM_NEWLINK;
    let message = <RouteNetlinkMessage as netlink_packet_core::NetlinkDeserializable>::deserialize(
        &header, bytes,
    );
    if let Some(link) = message.ok().and_then(link_of) {
        link.is_running();
    }
}
