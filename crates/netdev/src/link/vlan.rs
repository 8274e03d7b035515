//! VLANs: sub-interfaces, and bridges that tell VLANs apart themselves.

use netlink_packet_route::link::{
    AfSpecBridge, BridgeVlanInfo, BridgeVlanInfoFlags, InfoBridge, InfoData, InfoKind, InfoVlan,
    LinkAttribute, LinkInfo, LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Links, check_name};
use crate::net_error::NetError;

impl Links {
    /// Makes sub-interface `name` of the interface with number `lower`: it has the frames that
    /// carry the 802.1Q tag `id`, without it. It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`]; [`NetError::Unsupported`] without the 8021q driver.
    pub fn add_vlan(&self, name: &str, lower: u32, id: u16) -> Result<(), NetError> {
        check_name(name)?;
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Link(lower),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Vlan),
                LinkInfo::Data(InfoData::Vlan(vec![InfoVlan::Id(id)])),
            ]),
        ];
        self.create(message)
            .map_err(|e| self.error("make VLAN sub-interface", name, e))
    }

    /// A bridge as of [`Links::add_bridge`] that forwards within VLANs only. Its ports belong to
    /// none until [`Links::allow_vlan`].
    ///
    /// # Errors
    /// As [`Links::add_bridge`]; [`NetError::Unsupported`] for a kernel without
    /// CONFIG_BRIDGE_VLAN_FILTERING.
    pub fn add_filtering_bridge(&self, name: &str) -> Result<(), NetError> {
        self.add_bridge_with(
            name,
            vec![
                InfoBridge::VlanFiltering(true),
                InfoBridge::VlanDefaultPvid(0),
            ],
        )
    }

    /// Lets bridge port number `port` receive and send frames with tag `id`; they keep the tag.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`], or what the bridge says.
    pub fn allow_vlan(&self, port: u32, id: u16) -> Result<(), NetError> {
        self.vlan_at(port, id, BridgeVlanInfoFlags::empty())
    }

    /// Lets bridge port number `port` be in the VLAN `id` with frames that have no tag.
    ///
    /// # Errors
    /// As [`Links::allow_vlan`].
    pub fn allow_untagged(&self, port: u32, id: u16) -> Result<(), NetError> {
        let flags = BridgeVlanInfoFlags::Pvid | BridgeVlanInfoFlags::Untagged;
        self.vlan_at(port, id, flags)
    }

    fn vlan_at(&self, port: u32, id: u16, flags: BridgeVlanInfoFlags) -> Result<(), NetError> {
        let mut message = LinkMessage::default();
        message.header.interface_family = AddressFamily::Bridge;
        message.header.index = port;
        message.attributes = vec![LinkAttribute::AfSpecBridge(vec![AfSpecBridge::VlanInfo(
            BridgeVlanInfo { flags, vid: id },
        )])];
        self.channel
            .change(RouteNetlinkMessage::SetLink(message), 0)
            .map_err(|e| self.error("allow a VLAN on bridge port", &port.to_string(), e))
    }
}
