//! Recognising frames at the receiver.

use nicety_model::FrameSize;

use crate::checksum::Sum;
use crate::ethernet::{self, EthernetHeader};
use crate::flow::Flow;
use crate::ipv4::{self, Ipv4Header};
use crate::pattern::pattern;
use crate::stamp::{STREAM_LEARNING, Stamp};
use crate::template::{HEAD_BYTES, total_length};
use crate::udp::{self, UdpHeader};
use crate::vlan;

/// Tags looked through: a customer and a service tag.
const TAGS_MAX: usize = 2;
const STAMP: usize = ipv4::HEADER_BYTES + udp::HEADER_BYTES;

/// What a received frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// One of ours, intact.
    Ours(Stamp),
    /// A learning frame of ours, intact.
    Learning,
    /// One of ours by its headers, but damaged: what it says cannot be believed.
    Corrupt,
    /// Somebody else's.
    Foreign,
}

/// How much of a frame of ours is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckCorruption {
    /// Every byte from the IPv4 header on: header checksum, lengths, UDP checksum, fill pattern.
    Full,
    /// Headers and stamp only, for frames of which only the start was captured: damage to the
    /// stamp or the payload goes unnoticed.
    Headers,
}

/// What the frames of a trial look like when they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    total_length: u16,
    fill_sum: Sum,
}

impl Expect {
    /// Frames of `frame_size`, sent with a VLAN tag or without. The tag may be gone, or another,
    /// when they arrive.
    pub fn new(frame_size: FrameSize, tagged: bool) -> Self {
        let total_length = total_length(frame_size, tagged);
        let fill = pattern(usize::from(total_length) - HEAD_BYTES);
        Self {
            total_length,
            fill_sum: Sum::default().add_bytes(fill),
        }
    }

    /// Says what `frame` (from the Ethernet header, without FCS) is.
    ///
    /// A frame counts as ours when two of three signs are there: benchmarking addresses, ports of
    /// a flow range, the stamp's magic. So damage to any one of them is seen as damage, while an
    /// ICMP message about one of our frames stays foreign. What a path may change on the way does
    /// not matter: hardware addresses, VLAN tags, DSCP and TTL (with a right header checksum),
    /// padding of short frames.
    pub fn classify(&self, frame: &[u8], check: CheckCorruption) -> Seen {
        let Some(packet) = ip_packet(frame) else {
            return Seen::Foreign;
        };
        let (Some(ip), Some(udp)) = (
            Ipv4Header::new(packet),
            packet.get(ipv4::HEADER_BYTES..).and_then(UdpHeader::new),
        ) else {
            return Seen::Foreign;
        };
        let stamp = packet
            .get(STAMP..)
            .and_then(|payload| payload.first_chunk())
            .and_then(Stamp::read);
        if !is_ours(ip, udp, stamp.is_some()) {
            return Seen::Foreign;
        }
        let Some(stamp) = stamp else {
            return Seen::Corrupt;
        };
        if !self.headers_are_right(ip, udp) {
            return Seen::Corrupt;
        }
        if check == CheckCorruption::Full
            && !(self.length_is_right(frame, packet) && self.payload_is_right(ip, packet))
        {
            return Seen::Corrupt;
        }
        match stamp.stream {
            STREAM_LEARNING => Seen::Learning,
            _ => Seen::Ours(stamp),
        }
    }

    fn headers_are_right(&self, ip: Ipv4Header<'_>, udp: UdpHeader<'_>) -> bool {
        ip.version_ihl() == ipv4::VERSION_IHL
            && ip.protocol() == ipv4::PROTOCOL_UDP
            && ip.total_length() == self.total_length
            && udp.length() == self.udp_length()
            // We always set it, so its absence is damage.
            && udp.checksum() != 0
            && ip.checksum_is_right()
    }

    fn length_is_right(&self, frame: &[u8], packet: &[u8]) -> bool {
        let need = usize::from(self.total_length);
        packet.len() == need || (packet.len() > need && frame.len() <= ethernet::PADDED_BYTES_MAX)
    }

    /// Whether the UDP checksum holds over the pseudo header, header, stamp and pattern, and the
    /// pattern is the one that was sent. Comparing is cheaper than summing, and finds more.
    fn payload_is_right(&self, ip: Ipv4Header<'_>, packet: &[u8]) -> bool {
        let Some((head, rest)) = packet.split_first_chunk::<HEAD_BYTES>() else {
            return false;
        };
        let sum = udp::pseudo_header(ip.source(), ip.destination(), self.udp_length())
            .add_bytes(&head[ipv4::HEADER_BYTES..])
            .add(self.fill_sum);
        let fill = usize::from(self.total_length) - HEAD_BYTES;
        sum.is_all_ones() && rest.get(..fill) == Some(pattern(fill))
    }

    fn udp_length(&self) -> u16 {
        self.total_length - ipv4::HEADER_BYTES as u16
    }
}

/// Addresses and ports of a frame of IPv4 and UDP without options, whoever sent it.
pub fn flow_of(frame: &[u8]) -> Option<Flow> {
    let packet = ip_packet(frame)?;
    let ip = Ipv4Header::new(packet)?;
    let udp = packet.get(ipv4::HEADER_BYTES..).and_then(UdpHeader::new)?;
    Some(Flow {
        source: ip.source(),
        destination: ip.destination(),
        source_port: udp.source(),
        destination_port: udp.destination(),
    })
}

/// The bytes from the IPv4 header on, behind up to two VLAN tags.
fn ip_packet(frame: &[u8]) -> Option<&[u8]> {
    let (ether_type, packet) = behind_tags(frame)?;
    (ether_type == ethernet::TYPE_IPV4).then_some(packet)
}

/// EtherType and the bytes behind it, behind up to two VLAN tags.
#[inline]
pub(crate) fn behind_tags(frame: &[u8]) -> Option<(u16, &[u8])> {
    let mut ether_type = EthernetHeader::new(frame)?.ether_type();
    let mut rest = &frame[ethernet::HEADER_BYTES..];
    for _ in 0..TAGS_MAX {
        if !vlan::is_tag(ether_type) {
            break;
        }
        let (tag, behind) = rest.split_first_chunk::<{ vlan::TAG_BYTES }>()?;
        ether_type = u16::from_be_bytes([tag[2], tag[3]]);
        rest = behind;
    }
    Some((ether_type, rest))
}

fn is_ours(ip: Ipv4Header<'_>, udp: UdpHeader<'_>, magic: bool) -> bool {
    let flow = Flow {
        source: ip.source(),
        destination: ip.destination(),
        source_port: udp.source(),
        destination_port: udp.destination(),
    };
    let signs = [flow.has_our_addresses(), flow.has_our_ports(), magic];
    signs.into_iter().filter(|sign| *sign).count() >= 2
}

#[cfg(test)]
mod tests;
