//! Where what stands in a frame.

use nicety_model::Shape;

use crate::stamp::STAMP_BYTES;
use crate::{MacAddr, PacketError, VlanTag, ethernet, ipv4, ipv6, tcp, udp, vlan};

/// Headers of a frame and their lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes of the Ethernet header with its tags.
    pub(super) link: usize,
    /// Bytes of the IP header.
    pub(super) ip: usize,
    /// Bytes of the header behind it.
    pub(super) transport: usize,
    pub(super) ipv6: bool,
    pub(super) tcp: bool,
    /// Tag protocol identifiers and tags, the outer one first.
    tags: Vec<(u16, VlanTag)>,
}

impl Layout {
    /// Headers of a shape; a tag of its own takes the place of the path's.
    pub(super) fn of(shape: &Shape, path_tag: Option<VlanTag>) -> Result<Self, PacketError> {
        let tags = match shape.vlan {
            Some(tags) => {
                let outer = VlanTag::new(tags.outer, 0)?;
                match tags.inner {
                    Some(inner) => vec![
                        (vlan::TPID_SERVICE, outer),
                        (vlan::TPID_CUSTOMER, VlanTag::new(inner, 0)?),
                    ],
                    None => vec![(vlan::TPID_CUSTOMER, outer)],
                }
            }
            None => path_tag
                .map(|tag| (vlan::TPID_CUSTOMER, tag))
                .into_iter()
                .collect(),
        };
        let (ipv6, tcp) = (shape.is_ipv6(), shape.is_tcp());
        Ok(Self {
            link: ethernet::HEADER_BYTES + vlan::TAG_BYTES * tags.len(),
            ip: if ipv6 {
                ipv6::HEADER_BYTES
            } else {
                ipv4::HEADER_BYTES
            },
            transport: if tcp {
                tcp::HEADER_BYTES
            } else {
                udp::HEADER_BYTES
            },
            ipv6,
            tcp,
            tags,
        })
    }

    /// Bytes of the smallest frame, with FCS.
    pub(super) fn smallest(&self) -> usize {
        self.link
            + self.ip
            + self.transport
            + STAMP_BYTES
            + usize::from(nicety_model::frame::FCS_BYTES)
    }

    pub(super) fn ether_type(&self) -> u16 {
        if self.ipv6 {
            ipv6::ETHER_TYPE
        } else {
            ethernet::TYPE_IPV4
        }
    }

    pub(super) fn protocol(&self) -> u8 {
        if self.tcp {
            tcp::PROTOCOL
        } else {
            ipv4::PROTOCOL_UDP
        }
    }

    /// Where the checksum stands in the header behind IP's.
    pub(super) fn checksum(&self) -> usize {
        if self.tcp {
            tcp::CHECKSUM
        } else {
            udp::CHECKSUM
        }
    }

    /// Writes the Ethernet header and its tags.
    pub(super) fn write_link(&self, bytes: &mut [u8], destination: MacAddr, source: MacAddr) {
        let first = self
            .tags
            .first()
            .map_or(self.ether_type(), |(tpid, _)| *tpid);
        if let Some(header) = bytes.first_chunk_mut() {
            ethernet::write(header, destination, source, first);
        }
        // Each tag says what follows it.
        let next = self.tags.iter().skip(1).map(|(tpid, _)| *tpid);
        let next = next.chain([self.ether_type()]);
        let places = bytes[ethernet::HEADER_BYTES..].chunks_exact_mut(vlan::TAG_BYTES);
        for ((place, (_, tag)), next) in places.zip(&self.tags).zip(next) {
            place[..2].copy_from_slice(&tag.control().to_be_bytes());
            place[2..].copy_from_slice(&next.to_be_bytes());
        }
    }
}
