//! Frames of several sizes, IP versions, protocols and tags: the general form of
//! [`Template`](crate::Template) and [`Expect`](crate::Expect), which stay as they are for one size of
//! IPv4 and UDP.

mod expect;
mod layout;

use nicety_model::{FrameSize, Popularity, Shape};

use crate::checksum::Sum;
use crate::flow::{Flow, FlowRange, v6};
use crate::ipv6;
use crate::pattern::pattern;
use crate::picker::Picker;
use crate::stamp::{MAGIC, STAMP_BYTES, Stamp};
use crate::{MacAddr, PacketError, VlanTag, ethernet, ipv4, tcp, udp};

pub use expect::MixedExpect;
use layout::Layout;

/// What the frames of a stream look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixedSpec {
    /// Frame size with FCS, tags included, where the shape has no mix.
    pub frame_size: FrameSize,
    /// Mix, headers, tags and popularity of flows.
    pub shape: Shape,
    /// Tag that the path wants, where the shape has none.
    pub path_tag: Option<VlanTag>,
    /// The sender's address.
    pub source_mac: MacAddr,
    /// The receiver's address.
    pub destination_mac: MacAddr,
    /// Addresses and ports, and between how many stations.
    pub flows: FlowRange,
}

impl MixedSpec {
    /// The sizes, smallest first.
    pub fn sizes(&self) -> Vec<FrameSize> {
        match &self.shape.imix {
            Some(mix) => mix.shares().map(|share| share.size).collect(),
            None => vec![self.frame_size],
        }
    }

    /// Places among the sizes of the frames of one period.
    pub fn order(&self) -> Vec<u8> {
        self.shape
            .imix
            .map_or_else(|| vec![0], |mix| mix.sequence())
    }
}

/// One size ready to send but for what changes from frame to frame.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    bytes: Box<[u8]>,
    /// IPv4 header without addresses.
    ip_sum: Sum,
    /// All of the checksum behind it but addresses, ports and the stamp behind its magic.
    sum: Sum,
}

/// Frames of all sizes ready to send but for stamp, flow and checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedTemplate {
    spec: MixedSpec,
    layout: Layout,
    forms: Box<[Form]>,
    order: Box<[u8]>,
    picker: Picker,
}

impl MixedTemplate {
    /// Builds the frames.
    ///
    /// # Errors
    /// A group address as source; a size too small for the headers.
    pub fn new(spec: MixedSpec) -> Result<Self, PacketError> {
        if spec.source_mac.is_group() {
            let mac = spec.source_mac;
            return Err(PacketError::MacGroup { mac });
        }
        let layout = Layout::of(&spec.shape, spec.path_tag)?;
        let sizes = spec.sizes().into_iter();
        let forms: Result<Vec<Form>, _> = sizes.map(|size| form(&spec, &layout, size)).collect();
        let shape = &spec.shape;
        let popularity = shape.popularity.unwrap_or(Popularity::Uniform);
        let born_per_s = shape.new_flows_per_s.unwrap_or(0);
        Ok(Self {
            picker: Picker::new(spec.flows.count(), popularity, born_per_s),
            order: spec.order().into_boxed_slice(),
            forms: forms?.into_boxed_slice(),
            layout,
            spec,
        })
    }

    /// What the template was made from.
    pub fn spec(&self) -> &MixedSpec {
        &self.spec
    }

    /// Bytes of the frames of each size as handed to a packet socket: without FCS.
    pub fn frame_bytes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.forms.iter().map(|form| form.bytes.len())
    }

    /// Place among the sizes of frame `sequence`.
    pub fn place(&self, sequence: u32) -> usize {
        usize::from(self.order[sequence as usize % self.order.len()])
    }

    /// What the receiver needs to recognise these frames.
    pub fn expect(&self) -> MixedExpect {
        MixedExpect::new(&self.layout, &self.spec)
    }

    /// Fills the start of `buffer` with a frame of size number `place`, for [`Self::stamp`] to patch again
    /// and again.
    ///
    /// # Errors
    /// When the buffer is too short.
    pub fn prepare(&self, place: usize, buffer: &mut [u8]) -> Result<usize, PacketError> {
        let bytes = &self.forms[place].bytes;
        room(buffer, bytes.len())?.copy_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Turns a buffer that holds a frame of the size that `stamp` has by its number into the frame that
    /// it says: flow, stamp and checksums. Returns the frame's bytes.
    ///
    /// # Errors
    /// When the buffer is too short.
    pub fn stamp(&self, buffer: &mut [u8], stamp: &Stamp) -> Result<usize, PacketError> {
        let number = self.picker.pick(stamp.sequence, stamp.tx_ns);
        self.stamp_flow(buffer, stamp, self.spec.flows.numbered(number))
    }

    /// As [`Self::stamp`], with a flow that need not be one of the template's own.
    ///
    /// # Errors
    /// When the buffer is too short.
    pub fn stamp_flow(
        &self,
        buffer: &mut [u8],
        stamp: &Stamp,
        flow: Flow,
    ) -> Result<usize, PacketError> {
        let form = &self.forms[self.place(stamp.sequence)];
        let layout = &self.layout;
        let frame = room(buffer, form.bytes.len())?;
        if let Some(station) = self.spec.flows.station(stamp.sequence) {
            for at in ethernet::STATIONS {
                frame[at] = station;
            }
        }
        let packet = &mut frame[layout.link..];
        let addresses = write_addresses(packet, layout, form, &flow);
        let segment = &mut packet[layout.ip..];
        segment[..2].copy_from_slice(&flow.source_port.to_be_bytes());
        segment[2..4].copy_from_slice(&flow.destination_port.to_be_bytes());
        let sum = form
            .sum
            .add(addresses)
            .add_u16(flow.source_port)
            .add_u16(flow.destination_port)
            .add_u16(u16::from_be_bytes([stamp.stream, stamp.trial]))
            .add_u32(stamp.sequence)
            .add_u48(stamp.tx_ns);
        let checksum = if layout.tcp {
            sum.checksum()
        } else {
            udp::transmitted(sum)
        };
        let at = layout.checksum();
        segment[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        if let Some(bytes) = segment[layout.transport..].first_chunk_mut() {
            stamp.write(bytes);
        }
        Ok(form.bytes.len())
    }
}

/// Writes the addresses and what depends on them before the next header; their sum.
fn write_addresses(packet: &mut [u8], layout: &Layout, form: &Form, flow: &Flow) -> Sum {
    if layout.ipv6 {
        let addresses = [v6(flow.source), v6(flow.destination)];
        if let Some(header) = packet.first_chunk_mut() {
            ipv6::write_addresses(header, addresses);
        }
        let sums = addresses.map(ipv6::address_sum);
        return sums[0].add(sums[1]);
    }
    let sum = Sum::default()
        .add_u32(flow.source.into())
        .add_u32(flow.destination.into());
    let checksum = form.ip_sum.add(sum).checksum();
    packet[ipv4::CHECKSUM..ipv4::SOURCE].copy_from_slice(&checksum.to_be_bytes());
    packet[ipv4::SOURCE..ipv4::SOURCE + 4].copy_from_slice(&flow.source.octets());
    packet[ipv4::SOURCE + 4..ipv4::HEADER_BYTES].copy_from_slice(&flow.destination.octets());
    sum
}

fn room(buffer: &mut [u8], need: usize) -> Result<&mut [u8], PacketError> {
    let have = buffer.len();
    buffer
        .get_mut(..need)
        .ok_or(PacketError::BufferTooShort { need, have })
}

/// A frame of one size with all that never changes.
fn form(spec: &MixedSpec, layout: &Layout, size: FrameSize) -> Result<Form, PacketError> {
    let needed = layout.smallest();
    if usize::from(size.bytes()) < needed {
        let needed = needed as u16;
        return Err(PacketError::FrameTooSmall { size, needed });
    }
    let mut bytes = vec![0; size.bytes_without_fcs()].into_boxed_slice();
    layout.write_link(&mut bytes, spec.destination_mac, spec.source_mac);
    let flow = spec.flows.numbered(0);
    let length = (bytes.len() - layout.link) as u16;
    let segment_length = length - layout.ip as u16;
    let protocol = layout.protocol();
    let dscp = spec.shape.dscp.unwrap_or(0);
    let packet = &mut bytes[layout.link..];
    if layout.ipv6 {
        if let Some(header) = packet.first_chunk_mut() {
            let addresses = [v6(flow.source), v6(flow.destination)];
            ipv6::write(header, dscp, protocol, segment_length, addresses);
        }
    } else if let Some(header) = packet.first_chunk_mut() {
        let addresses = [flow.source, flow.destination];
        ipv4::write_as(header, dscp, protocol, length, addresses);
    }
    let ip_sum = Sum::default().add_bytes(&packet[..ipv4::CHECKSUM]);
    let segment = &mut packet[layout.ip..];
    if layout.tcp {
        if let Some(header) = segment.first_chunk_mut() {
            tcp::write(header, 0, 0);
        }
    } else if let Some(header) = segment.first_chunk_mut() {
        udp::write(header, 0, 0, segment_length);
    }
    let stamp = layout.transport;
    segment[stamp..stamp + 2].copy_from_slice(&MAGIC.to_be_bytes());
    let fill = &mut segment[stamp + STAMP_BYTES..];
    fill.copy_from_slice(pattern(fill.len()));
    let sum = Sum::default()
        .add_u16(protocol.into())
        .add_u16(segment_length)
        .add_bytes(segment);
    Ok(Form { bytes, ip_sum, sum })
}

#[cfg(test)]
mod tests;
