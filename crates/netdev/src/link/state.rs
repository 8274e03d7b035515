//! What the kernel says about one interface.

use std::fmt;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoMacVlan, InfoMacVtap, InfoVlan, LinkAttribute, LinkFlags, LinkInfo,
    LinkXdp, State, XdpAttached,
};
use nicety_model::facts::BridgeFacts;

use super::LinkCounters;

/// A MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Operational state of an interface (RFC 2863 §3.1.14, as the kernel reports it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OperState {
    /// The driver does not say; treat as up when there is carrier.
    Unknown,
    /// Ready to carry frames.
    Up,
    /// Not ready.
    Down,
    /// Waiting for an interface below.
    LowerLayerDown,
    /// Anything else: dormant, testing, not present.
    #[default]
    Other,
}

/// What the kernel says about one interface.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// Number, unique in its namespace.
    pub index: u32,
    /// Name.
    pub name: String,
    /// `veth`, `bridge`, …; empty for hardware.
    pub kind: String,
    /// Largest payload of a frame in bytes, without Ethernet header and FCS.
    pub mtu: u32,
    /// Smallest and largest MTU the driver takes; the largest is 0 when it sets no limit.
    pub mtu_range: (u32, u32),
    /// Hardware address; absent when it is not an Ethernet address.
    pub mac: Option<Mac>,
    /// Set up by the administrator (IFF_UP).
    pub up: bool,
    /// Has carrier (IFF_LOWER_UP).
    pub carrier: bool,
    /// Operational state.
    pub oper_state: OperState,
    /// Receives every frame whatever its destination.
    pub promiscuous: bool,
    /// Loopback.
    pub loopback: bool,
    /// Number of the bridge or bond it belongs to.
    pub master: Option<u32>,
    /// Number of the interface it is stacked on; of its peer for a veth, which may be in
    /// another namespace.
    pub lower: Option<u32>,
    /// That one is in another namespace (`IFLA_LINK_NETNSID`), where its number means something else.
    pub lower_elsewhere: bool,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Receive queues.
    pub rx_queues: u32,
    /// Queueing discipline.
    pub qdisc: String,
    /// Settings of a bridge.
    pub bridge: Option<BridgeFacts>,
    /// Number of a VLAN.
    pub vlan: Option<u16>,
    /// Mode of a macvlan or macvtap: `bridge`, `private`, …
    pub mode: Option<String>,
    /// An XDP program is attached.
    pub xdp: bool,
    /// Counters.
    pub counters: LinkCounters,
}

impl Link {
    /// Set up, with carrier, and not waiting for anything.
    pub fn is_running(&self) -> bool {
        self.up && self.carrier && matches!(self.oper_state, OperState::Up | OperState::Unknown)
    }
}

/// Reads the kernel's message; other messages give nothing.
pub(super) fn link_of(message: RouteNetlinkMessage) -> Option<Link> {
    let RouteNetlinkMessage::NewLink(message) = message else {
        return None;
    };
    let flags = message.header.flags;
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        kind: String::new(),
        mtu: 0,
        mtu_range: (0, 0),
        mac: None,
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::LowerUp),
        oper_state: OperState::Unknown,
        promiscuous: flags.contains(LinkFlags::Promisc),
        loopback: flags.contains(LinkFlags::Loopback),
        master: None,
        lower: None,
        lower_elsewhere: false,
        tx_queues: 1,
        rx_queues: 1,
        qdisc: String::new(),
        bridge: None,
        vlan: None,
        mode: None,
        xdp: false,
        counters: LinkCounters::default(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::MinMtu(mtu) => link.mtu_range.0 = mtu,
            LinkAttribute::MaxMtu(mtu) => link.mtu_range.1 = mtu,
            LinkAttribute::Address(bytes) => link.mac = bytes.try_into().ok().map(Mac),
            LinkAttribute::Controller(index) => link.master = Some(index),
            LinkAttribute::Link(index) => link.lower = Some(index),
            LinkAttribute::LinkNetNsId(_) => link.lower_elsewhere = true,
            LinkAttribute::NumTxQueues(count) => link.tx_queues = count,
            LinkAttribute::NumRxQueues(count) => link.rx_queues = count,
            LinkAttribute::Qdisc(name) => link.qdisc = name,
            // Presence of the promiscuity count beats the flag, which only tells the user's
            // own wish (net/core/dev.c, dev_get_flags).
            LinkAttribute::Promiscuity(count) => link.promiscuous |= count > 0,
            LinkAttribute::Stats64(stats) => link.counters = LinkCounters::from(&stats),
            LinkAttribute::Xdp(infos) => {
                let none = LinkXdp::Attached(XdpAttached::None);
                link.xdp = infos
                    .iter()
                    .any(|info| matches!(info, LinkXdp::Attached(_)) && *info != none);
            }
            LinkAttribute::OperState(state) => {
                link.oper_state = match state {
                    State::Unknown => OperState::Unknown,
                    State::Up => OperState::Up,
                    State::Down => OperState::Down,
                    State::LowerLayerDown => OperState::LowerLayerDown,
                    _ => OperState::Other,
                }
            }
            LinkAttribute::LinkInfo(infos) => {
                for info in infos {
                    match info {
                        LinkInfo::Kind(kind) => link.kind = kind.to_string(),
                        LinkInfo::Data(data) => read_data(&mut link, data),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Some(link)
}

/// What only interfaces of this kind have.
fn read_data(link: &mut Link, data: InfoData) {
    match data {
        InfoData::Bridge(infos) => {
            let mut bridge = BridgeFacts::default();
            for info in infos {
                match info {
                    InfoBridge::NfCallIpTables(on) => bridge.nf_call_iptables = Some(on),
                    InfoBridge::NfCallIp6Tables(on) => bridge.nf_call_ip6tables = Some(on),
                    InfoBridge::NfCallArpTables(on) => bridge.nf_call_arptables = Some(on),
                    InfoBridge::VlanFiltering(on) => bridge.vlan_filtering = Some(on),
                    InfoBridge::MulticastSnooping(on) => bridge.multicast_snooping = Some(on),
                    _ => {}
                }
            }
            link.bridge = Some(bridge);
        }
        InfoData::Vlan(infos) => {
            link.vlan = infos.into_iter().find_map(|info| match info {
                InfoVlan::Id(id) => Some(id),
                _ => None,
            });
        }
        InfoData::MacVlan(infos) => {
            link.mode = infos.into_iter().find_map(|info| match info {
                InfoMacVlan::Mode(mode) => Some(format!("{mode:?}").to_lowercase()),
                _ => None,
            });
        }
        InfoData::MacVtap(infos) => {
            link.mode = infos.into_iter().find_map(|info| match info {
                InfoMacVtap::Mode(mode) => Some(format!("{mode:?}").to_lowercase()),
                _ => None,
            });
        }
        _ => {}
    }
}
