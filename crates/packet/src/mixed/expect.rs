//! Recognising frames of a mix at the receiver.

use nicety_model::FrameSize;

use super::MixedSpec;
use super::layout::Layout;
use crate::checksum::Sum;
use crate::ethernet;
use crate::flow::{self, Flow};
use crate::ipv4::{self, Ipv4Header};
use crate::ipv6::{self, Ipv6Header};
use crate::parse::{CheckCorruption, Seen, behind_tags};
use crate::pattern::pattern;
use crate::stamp::{STAMP_BYTES, STREAM_LEARNING, Stamp};
use crate::tcp;

/// What the frames of a trial look like when they arrive: those of each number have their size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedExpect {
    ipv6: bool,
    tcp: bool,
    ether_type: u16,
    protocol: u8,
    ip: usize,
    /// Where the stamp stands in a packet.
    stamp: usize,
    sizes: Box<[Size]>,
    order: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    /// Bytes of the packet, IP header included.
    length: usize,
    fill_sum: Sum,
}

/// What IP says of a packet.
struct Read {
    sum: Sum,
    length: usize,
    protocol: u8,
    header_is_right: bool,
    ours: bool,
}

impl MixedExpect {
    pub(super) fn new(layout: &Layout, spec: &MixedSpec) -> Self {
        let stamp = layout.ip + layout.transport;
        let size = |size: FrameSize| {
            // A template of the same sizes exists, so there is room for headers and stamp.
            let length = size.bytes_without_fcs() - layout.link;
            let fill = pattern(length - stamp - STAMP_BYTES);
            Size {
                length,
                fill_sum: Sum::default().add_bytes(fill),
            }
        };
        Self {
            ipv6: layout.ipv6,
            tcp: layout.tcp,
            ether_type: layout.ether_type(),
            protocol: layout.protocol(),
            ip: layout.ip,
            stamp,
            sizes: spec.sizes().into_iter().map(size).collect(),
            order: spec.order().into_boxed_slice(),
        }
    }

    /// Says what `frame` (from the Ethernet header, without FCS) is, as
    /// [`Expect::classify`](crate::Expect::classify) does. A frame with the size of another number is
    /// damaged.
    pub fn classify(&self, frame: &[u8], check: CheckCorruption) -> Seen {
        let packet = behind_tags(frame).filter(|(ether_type, _)| *ether_type == self.ether_type);
        let Some((_, packet)) = packet else {
            return Seen::Foreign;
        };
        let Some((read, segment)) = self.read(packet).zip(packet.get(self.ip..)) else {
            return Seen::Foreign;
        };
        let Some(ports) = segment.first_chunk::<4>() else {
            return Seen::Foreign;
        };
        let stamp = packet
            .get(self.stamp..)
            .and_then(|payload| payload.first_chunk());
        let stamp = stamp.and_then(Stamp::read);
        let signs = [read.ours, are_ours(ports), stamp.is_some()];
        if signs.into_iter().filter(|sign| *sign).count() < 2 {
            return Seen::Foreign;
        }
        let Some(stamp) = stamp else {
            return Seen::Corrupt;
        };
        let place = self.order[stamp.sequence as usize % self.order.len()];
        let size = self.sizes[usize::from(place)];
        if !(read.header_is_right
            && read.protocol == self.protocol
            && read.length == size.length
            && self.segment_is_right(segment, size))
        {
            return Seen::Corrupt;
        }
        if check == CheckCorruption::Full && !self.is_whole(frame, packet, &read, size) {
            return Seen::Corrupt;
        }
        match stamp.stream {
            STREAM_LEARNING => Seen::Learning,
            _ => Seen::Ours(stamp),
        }
    }

    /// Addresses and ports of a frame with these headers, whoever sent it; those of IPv6 as the ones of IPv4 that they
    /// stand for.
    pub fn flow_of(&self, frame: &[u8]) -> Option<Flow> {
        let (ether_type, packet) = behind_tags(frame)?;
        if ether_type != self.ether_type {
            return None;
        }
        let (source, destination, protocol) = if self.ipv6 {
            let ip = Ipv6Header::new(packet)?;
            let next = ip.next_header();
            (flow::v4(ip.source())?, flow::v4(ip.destination())?, next)
        } else {
            let ip = Ipv4Header::new(packet)?;
            (ip.source(), ip.destination(), ip.protocol())
        };
        let [s0, s1, d0, d1] = *packet.get(self.ip..)?.first_chunk()?;
        (protocol == self.protocol).then_some(Flow {
            source,
            destination,
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
        })
    }

    fn read(&self, packet: &[u8]) -> Option<Read> {
        if self.ipv6 {
            let ip = Ipv6Header::new(packet)?;
            let addresses = [ip.source(), ip.destination()];
            let sums = addresses.map(ipv6::address_sum);
            return Some(Read {
                sum: sums[0].add(sums[1]),
                length: usize::from(ip.payload_length()) + ipv6::HEADER_BYTES,
                protocol: ip.next_header(),
                header_is_right: ip.version() == 6,
                ours: addresses.into_iter().all(flow::is_v6),
            });
        }
        let ip = Ipv4Header::new(packet)?;
        let flow = Flow {
            source: ip.source(),
            destination: ip.destination(),
            source_port: 0,
            destination_port: 0,
        };
        Some(Read {
            sum: Sum::default()
                .add_u32(flow.source.into())
                .add_u32(flow.destination.into()),
            length: ip.total_length().into(),
            protocol: ip.protocol(),
            header_is_right: ip.version_ihl() == ipv4::VERSION_IHL && ip.checksum_is_right(),
            ours: flow.has_our_addresses(),
        })
    }

    /// Whether what the header behind IP's says of itself is so.
    fn segment_is_right(&self, segment: &[u8], size: Size) -> bool {
        if self.tcp {
            return segment.first_chunk().is_some_and(tcp::is_ours);
        }
        let Some(header) = crate::udp::UdpHeader::new(segment) else {
            return false;
        };
        // We always set it, so its absence is damage.
        usize::from(header.length()) == size.length - self.ip && header.checksum() != 0
    }

    /// Whether every byte from the header behind IP's on is as it was sent.
    fn is_whole(&self, frame: &[u8], packet: &[u8], read: &Read, size: Size) -> bool {
        let padded = packet.len() > size.length && frame.len() <= ethernet::PADDED_BYTES_MAX;
        if packet.len() != size.length && !padded {
            return false;
        }
        let head = self.stamp + STAMP_BYTES;
        let fill = size.length - head;
        let sum = read
            .sum
            .add_u16(self.protocol.into())
            .add_u16((size.length - self.ip) as u16)
            .add_bytes(&packet[self.ip..head])
            .add(size.fill_sum);
        sum.is_all_ones() && packet.get(head..size.length) == Some(pattern(fill))
    }
}

fn are_ours(ports: &[u8; 4]) -> bool {
    let [s0, s1, d0, d1] = *ports;
    let flow = Flow {
        source: std::net::Ipv4Addr::UNSPECIFIED,
        destination: std::net::Ipv4Addr::UNSPECIFIED,
        source_port: u16::from_be_bytes([s0, s1]),
        destination_port: u16::from_be_bytes([d0, d1]),
    };
    flow.has_our_ports()
}
