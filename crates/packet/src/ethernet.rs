//! The Ethernet header (IEEE 802.3 §3), without FCS: a packet socket never sees one.

use crate::mac::{MacAddr, STATION};

/// Bytes of the header without any VLAN tag.
pub const HEADER_BYTES: usize = 14;
/// EtherType of IPv4.
pub const TYPE_IPV4: u16 = 0x0800;
/// Largest number of bytes without FCS that padding may bring a frame to: 60 for the shortest
/// Ethernet frame, 64 where a switch pads a tagged one as if the tag did not count.
pub const PADDED_BYTES_MAX: usize = 64;

const DESTINATION: usize = 0;
const SOURCE: usize = 6;
const TYPE: usize = 12;
/// Where a header tells stations apart, see [`MacAddr::station`].
pub(crate) const STATIONS: [usize; 2] = [DESTINATION + STATION, SOURCE + STATION];

/// A borrowed Ethernet header.
#[derive(Debug, Clone, Copy)]
pub struct EthernetHeader<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> EthernetHeader<'a> {
    /// The header at the start of `frame`, if that is long enough.
    pub fn new(frame: &'a [u8]) -> Option<Self> {
        frame.first_chunk().map(Self)
    }

    /// Destination address.
    pub fn destination(self) -> MacAddr {
        MacAddr(mac_at(self.0, DESTINATION))
    }

    /// Source address.
    pub fn source(self) -> MacAddr {
        MacAddr(mac_at(self.0, SOURCE))
    }

    /// EtherType, or the tag protocol identifier where a VLAN tag follows.
    pub fn ether_type(self) -> u16 {
        u16::from_be_bytes([self.0[TYPE], self.0[TYPE + 1]])
    }
}

/// Writes a header.
pub fn write(
    header: &mut [u8; HEADER_BYTES],
    destination: MacAddr,
    source: MacAddr,
    ether_type: u16,
) {
    header[DESTINATION..SOURCE].copy_from_slice(&destination.0);
    header[SOURCE..TYPE].copy_from_slice(&source.0);
    header[TYPE..].copy_from_slice(&ether_type.to_be_bytes());
}

fn mac_at(header: &[u8; HEADER_BYTES], at: usize) -> [u8; 6] {
    let mut mac = [0; 6];
    mac.copy_from_slice(&header[at..at + 6]);
    mac
}
