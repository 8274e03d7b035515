//! What a bridge forwards where, said beforehand instead of learned.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};

use super::{Links, Mac};
use crate::net_error::NetError;
use crate::raw::RawMessage;

const RTM_SETLINK: u16 = 19;
const RTM_NEWNEIGH: u16 = 28;
const AF_BRIDGE: u8 = 7;
/// Fields of `struct ndmsg` (include/uapi/linux/neighbour.h).
const NUD_NOARP: u16 = 0x40;
const NTF_MASTER: u8 = 0x04;
const NDA_LLADDR: u16 = 2;
const NDA_VLAN: u16 = 5;
/// Attributes of a bridge port (include/uapi/linux/if_link.h).
const IFLA_PROTINFO: u16 = 12;
const IFLA_BRPORT_LEARNING: u16 = 8;
const IFLA_BRPORT_UNICAST_FLOOD: u16 = 9;
const IFLA_BRPORT_MCAST_FLOOD: u16 = 27;
const IFLA_BRPORT_BCAST_FLOOD: u16 = 30;
const IFLA_BRPORT_ISOLATED: u16 = 33;

impl Links {
    /// Lets a bridge forward to its port `name` only what [`Links::forward_to`] names, and nothing
    /// at all from another such port; where its own frames come from is not learned.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`], or what the bridge says.
    pub fn isolate(&self, name: &str) -> Result<(), NetError> {
        let attributes = [
            (IFLA_BRPORT_LEARNING, 0),
            (IFLA_BRPORT_UNICAST_FLOOD, 0),
            (IFLA_BRPORT_MCAST_FLOOD, 0),
            (IFLA_BRPORT_BCAST_FLOOD, 0),
            (IFLA_BRPORT_ISOLATED, 1),
        ];
        self.port_attributes(name, &attributes)
    }

    /// Keeps a bridge from learning where the frames come from that enter at its port `name`.
    ///
    /// # Errors
    /// As [`Links::isolate`].
    pub fn do_not_learn(&self, name: &str) -> Result<(), NetError> {
        self.port_attributes(name, &[(IFLA_BRPORT_LEARNING, 0)])
    }

    /// Keeps a bridge from forwarding broadcast and multicast frames to its port `name`.
    ///
    /// # Errors
    /// As [`Links::isolate`].
    pub fn no_groups(&self, name: &str) -> Result<(), NetError> {
        let attributes = [(IFLA_BRPORT_MCAST_FLOOD, 0), (IFLA_BRPORT_BCAST_FLOOD, 0)];
        self.port_attributes(name, &attributes)
    }

    fn port_attributes(&self, name: &str, attributes: &[(u16, u8)]) -> Result<(), NetError> {
        // struct ifinfomsg.
        let mut header = [0; 16];
        header[0] = AF_BRIDGE;
        header[4..8].copy_from_slice(&self.get(name)?.index.to_ne_bytes());
        let mut message = RawMessage::new(RTM_SETLINK, &header);
        message.nest(IFLA_PROTINFO, |nest| {
            for (kind, value) in attributes {
                nest.put(*kind, &[*value]);
            }
        });
        self.channel
            .change(message, 0)
            .map_err(|e| self.error("set up bridge port", name, e))
    }

    /// Lets a bridge forward what goes to `station` to its port `name`: a static entry of its
    /// table, in a VLAN where the bridge tells them apart. It takes the place of one for the same
    /// station, be it the address of another port (net/bridge/br_fdb.c, `fdb_add_entry`).
    ///
    /// # Errors
    /// [`NetError::NotFound`], or what the bridge says.
    pub fn forward_to(&self, name: &str, station: Mac, vlan: Option<u16>) -> Result<(), NetError> {
        let mut header = [0; 12];
        header[0] = AF_BRIDGE;
        header[4..8].copy_from_slice(&self.get(name)?.index.to_ne_bytes());
        header[8..10].copy_from_slice(&NUD_NOARP.to_ne_bytes());
        header[10] = NTF_MASTER;
        let mut message = RawMessage::new(RTM_NEWNEIGH, &header);
        message.put(NDA_LLADDR, &station.0);
        if let Some(id) = vlan {
            message.put(NDA_VLAN, &id.to_ne_bytes());
        }
        self.channel
            .change(message, NLM_F_CREATE | NLM_F_REPLACE)
            .map_err(|e| self.error("forward a station to bridge port", name, e))
    }
}
