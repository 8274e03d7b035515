//! The messages (include/uapi/linux/devlink.h, net/devlink/rate.c, net/devlink/port.c).

use nicety_model::BitRate;

use crate::genetlink::Family;
use crate::raw::{RawMessage, text};

pub(super) const PORT_GET: u8 = 5;
pub(super) const ESWITCH_GET: u8 = 29;
pub(super) const RATE_GET: u8 = 74;
pub(super) const RATE_SET: u8 = 75;
pub(super) const BUS_NAME: u16 = 1;
pub(super) const DEV_NAME: u16 = 2;
pub(super) const PORT_INDEX: u16 = 3;
pub(super) const PORT_NETDEV_IFINDEX: u16 = 6;
pub(super) const PORT_NETDEV_NAME: u16 = 7;
pub(super) const ESWITCH_MODE: u16 = 25;
pub(super) const PORT_FLAVOUR: u16 = 77;
pub(super) const PORT_PCI_PF: u16 = 127;
pub(super) const PORT_PCI_VF: u16 = 128;
pub(super) const PORT_EXTERNAL: u16 = 149;
pub(super) const RATE_TYPE: u16 = 165;
pub(super) const RATE_TX_SHARE: u16 = 166;
pub(super) const RATE_TX_MAX: u16 = 167;
/// DEVLINK_PORT_FLAVOUR_PCI_VF.
pub(super) const FLAVOUR_VF: u16 = 4;
/// DEVLINK_ESWITCH_MODE_SWITCHDEV.
pub(super) const SWITCHDEV: u16 = 1;
/// DEVLINK_RATE_TYPE_LEAF: of a port, not of a group of them.
pub(super) const LEAF: u16 = 0;

/// What a port of the switch is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeafRate {
    /// Highest rate; 0 for none.
    pub max: BitRate,
    /// Guarantee; 0 for none.
    pub share: BitRate,
}

/// A port of a switch that is a virtual function's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DevlinkPort {
    pub(super) index: u32,
    pub(super) pf: u16,
    pub(super) vf: u32,
    pub(super) interface: Option<String>,
    pub(super) interface_index: Option<u32>,
}

/// Bus and device of a NIC.
fn halves(nic: &str) -> (&str, &str) {
    nic.split_once('/').unwrap_or(("pci", nic))
}

fn of_nic(family: Family, command: u8, nic: &str) -> RawMessage {
    let (bus, device) = halves(nic);
    let mut message = RawMessage::genl(family, command);
    message.put_str(BUS_NAME, bus);
    message.put_str(DEV_NAME, device);
    message
}

/// Asks for the mode of a NIC's switch.
pub(super) fn eswitch(family: Family, nic: &str) -> RawMessage {
    of_nic(family, ESWITCH_GET, nic)
}

/// Asks for all ports of all NICs.
pub(super) fn ports(family: Family) -> RawMessage {
    RawMessage::genl(family, PORT_GET)
}

/// Asks for all rates of all NICs.
pub(super) fn rates(family: Family) -> RawMessage {
    RawMessage::genl(family, RATE_GET)
}

/// Sets a port's rate; devlink counts bytes in a second.
pub(super) fn set_rate(family: Family, nic: &str, index: u32, rate: LeafRate) -> RawMessage {
    let mut message = of_nic(family, RATE_SET, nic);
    message.put_u32(PORT_INDEX, index);
    message.put_u64(RATE_TX_SHARE, rate.share.0 / 8);
    message.put_u64(RATE_TX_MAX, rate.max.0 / 8);
    message
}

pub(super) fn is_switchdev(answer: &RawMessage) -> bool {
    answer.u16(ESWITCH_MODE) == Some(SWITCHDEV)
}

fn is_of(answer: &RawMessage, nic: &str) -> bool {
    let (bus, device) = halves(nic);
    let is = |kind, wanted: &str| answer.value(kind).map(text) == Some(wanted);
    is(BUS_NAME, bus) && is(DEV_NAME, device)
}

/// A port of this NIC, when it is a virtual function's of this host: those behind another PCIe
/// controller, as the host of a SmartNIC's own CPUs, are not this machine's.
pub(super) fn port(answer: &RawMessage, nic: &str) -> Option<DevlinkPort> {
    let external = answer.u8(PORT_EXTERNAL).is_some_and(|flag| flag != 0);
    let fits = is_of(answer, nic) && answer.u16(PORT_FLAVOUR)? == FLAVOUR_VF && !external;
    let name = answer.value(PORT_NETDEV_NAME).map(text);
    fits.then_some(DevlinkPort {
        index: answer.u32(PORT_INDEX)?,
        pf: answer.u16(PORT_PCI_PF)?,
        vf: answer.u16(PORT_PCI_VF)?.into(),
        interface: name.filter(|name| !name.is_empty()).map(str::to_owned),
        interface_index: answer.u32(PORT_NETDEV_IFINDEX),
    })
}

/// Port and rate of a leaf of this NIC.
pub(super) fn leaf(answer: &RawMessage, nic: &str) -> Option<(u32, LeafRate)> {
    let fits = is_of(answer, nic) && answer.u16(RATE_TYPE)? == LEAF;
    let rate = |kind| BitRate(answer.u64(kind).unwrap_or(0).saturating_mul(8));
    let index = answer.u32(PORT_INDEX).filter(|_| fits)?;
    Some((
        index,
        LeafRate {
            max: rate(RATE_TX_MAX),
            share: rate(RATE_TX_SHARE),
        },
    ))
}
