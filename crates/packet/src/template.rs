//! Frames made once and stamped per frame.

use nicety_model::FrameSize;

use crate::checksum::Sum;
use crate::flow::{Flow, FlowRange};
use crate::pattern::pattern;
use crate::stamp::{MAGIC, STAMP_BYTES, Stamp};
use crate::{Expect, MacAddr, PacketError, RunMark, VlanTag, ethernet, ipv4, udp, vlan};

/// Bytes from the IPv4 header to the end of the stamp: all that ever changes lies in here.
pub(crate) const HEAD_BYTES: usize = ipv4::HEADER_BYTES + udp::HEADER_BYTES + STAMP_BYTES;

const UDP: usize = ipv4::HEADER_BYTES;
const UDP_CHECKSUM: usize = UDP + udp::CHECKSUM;
const STAMP: usize = UDP + udp::HEADER_BYTES;

/// What a template's frames look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateSpec {
    /// Frame size with FCS; a VLAN tag is part of it.
    pub frame_size: FrameSize,
    /// The sender's address.
    pub source_mac: MacAddr,
    /// The receiver's address.
    pub destination_mac: MacAddr,
    /// Tag in the frame, if any.
    pub vlan: Option<VlanTag>,
    /// Addresses and ports, and between how many stations.
    pub flows: FlowRange,
    /// Whose frames they are.
    pub mark: RunMark,
}

/// A frame ready to send but for its stamp, flow and checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    spec: TemplateSpec,
    bytes: Box<[u8]>,
    ip_offset: usize,
    /// IPv4 header without addresses.
    ip_sum: Sum,
    /// Everything in the UDP checksum but addresses, ports and the stamp behind its magic.
    udp_sum: Sum,
    /// Addresses and ports of the only flow; zero when there are several.
    flow_sum: Sum,
}

impl Template {
    /// Builds the frame; every flow is possible, so only a group address as source is refused.
    pub fn new(spec: TemplateSpec) -> Result<Self, PacketError> {
        if spec.source_mac.is_group() {
            return Err(PacketError::MacGroup {
                mac: spec.source_mac,
            });
        }
        let ip_offset = ip_offset(spec.vlan.is_some());
        let mut bytes = vec![0; spec.frame_size.bytes_without_fcs()].into_boxed_slice();
        let total_length = total_length(spec.frame_size, spec.vlan.is_some());
        let udp_length = total_length - ipv4::HEADER_BYTES as u16;
        let flow = spec.flows.flow(0);
        let wrong_size = || PacketError::BufferTooShort {
            need: ip_offset + HEAD_BYTES,
            have: spec.frame_size.bytes_without_fcs(),
        };

        write_link(&mut bytes, &spec).ok_or_else(wrong_size)?;
        let (head, fill) = bytes[ip_offset..]
            .split_first_chunk_mut::<HEAD_BYTES>()
            .ok_or_else(wrong_size)?;
        fill.copy_from_slice(pattern(fill.len()));
        let fill_sum = Sum::default().add_bytes(fill);
        if let Some(header) = head.first_chunk_mut() {
            let addresses = [flow.source, flow.destination];
            ipv4::write(header, spec.mark.identification(), total_length, addresses);
        }
        if let Some(header) = head[UDP..].first_chunk_mut() {
            udp::write(header, flow.source_port, flow.destination_port, udp_length);
        }
        let ip_sum = Sum::default().add_bytes(&head[..ipv4::CHECKSUM]);
        let udp_sum = Sum::default()
            .add_u16(u16::from(ipv4::PROTOCOL_UDP))
            .add_u16(udp_length)
            .add_u16(udp_length)
            .add_u16(MAGIC)
            .add(fill_sum);
        let flow_sum = match spec.flows.count() {
            1 => address_sum(&flow).add(port_sum(&flow)),
            _ => Sum::default(),
        };
        let mut template = Self {
            spec,
            bytes,
            ip_offset,
            ip_sum,
            udp_sum,
            flow_sum,
        };
        let mut first = template.bytes.clone();
        template.stamp(&mut first, &Stamp::default())?;
        template.bytes = first;
        Ok(template)
    }

    /// What the template was made from.
    pub fn spec(&self) -> &TemplateSpec {
        &self.spec
    }

    /// Bytes of a frame as handed to a packet socket: without FCS.
    pub fn frame_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The frame with a stamp of zeros, checksums right.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the receiver needs to recognise these frames.
    pub fn expect(&self) -> Expect {
        Expect::new(self.spec.frame_size, self.spec.vlan.is_some())
    }

    /// Fills the start of `buffer` with the frame, for [`Self::stamp`] to patch again and again.
    /// Returns the frame's bytes.
    pub fn prepare(&self, buffer: &mut [u8]) -> Result<usize, PacketError> {
        self.room(buffer)?.copy_from_slice(&self.bytes);
        Ok(self.bytes.len())
    }

    /// Turns a buffer that holds a frame of this template (from [`Self::prepare`], or stamped
    /// before) into the frame that `stamp` says: flow, stamp and checksums. The rest of the
    /// buffer is taken on trust.
    pub fn stamp(&self, buffer: &mut [u8], stamp: &Stamp) -> Result<usize, PacketError> {
        let flows = self.spec.flows;
        let flow = (flows.count() > 1).then(|| flows.flow(stamp.sequence));
        self.put(buffer, stamp, flow)
    }

    /// As [`Self::stamp`], with a flow that is none of the template's own.
    pub fn stamp_flow(
        &self,
        buffer: &mut [u8],
        stamp: &Stamp,
        flow: Flow,
    ) -> Result<usize, PacketError> {
        self.put(buffer, stamp, Some(flow))
    }

    /// Without a flow the buffer has that of the template already.
    fn put(
        &self,
        buffer: &mut [u8],
        stamp: &Stamp,
        flow: Option<Flow>,
    ) -> Result<usize, PacketError> {
        let too_short = PacketError::BufferTooShort {
            need: self.bytes.len(),
            have: buffer.len(),
        };
        let Some((link, head)) = buffer
            .get_mut(..self.bytes.len())
            .and_then(|frame| frame.split_at_mut_checked(self.ip_offset))
            .and_then(|(link, packet)| Some((link, packet.first_chunk_mut::<HEAD_BYTES>()?)))
        else {
            return Err(too_short);
        };
        if let Some(station) = self.spec.flows.station(stamp.sequence) {
            for at in ethernet::STATIONS {
                link[at] = station;
            }
        }
        let mut sum = self
            .udp_sum
            .add_u16(u16::from_be_bytes([stamp.stream, stamp.trial]));
        sum = sum.add_u32(stamp.sequence).add_u48(stamp.tx_ns);
        match flow {
            Some(flow) => {
                let addresses = address_sum(&flow);
                write_flow(head, &flow, self.ip_sum.add(addresses).checksum());
                sum = sum.add(addresses).add(port_sum(&flow));
            }
            None => sum = sum.add(self.flow_sum),
        }
        let checksum = udp::transmitted(sum).to_be_bytes();
        head[UDP_CHECKSUM..STAMP].copy_from_slice(&checksum);
        if let Some(bytes) = head[STAMP..].first_chunk_mut() {
            stamp.write(bytes);
        }
        Ok(self.bytes.len())
    }

    /// [`Self::prepare`] and [`Self::stamp`] in one, for a buffer that held something else.
    pub fn write(&self, buffer: &mut [u8], stamp: &Stamp) -> Result<usize, PacketError> {
        self.prepare(buffer)?;
        self.stamp(buffer, stamp)
    }

    fn room<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], PacketError> {
        let (need, have) = (self.bytes.len(), buffer.len());
        buffer
            .get_mut(..need)
            .ok_or(PacketError::BufferTooShort { need, have })
    }
}

/// Where the IPv4 header starts.
pub(crate) fn ip_offset(tagged: bool) -> usize {
    ethernet::HEADER_BYTES + if tagged { vlan::TAG_BYTES } else { 0 }
}

/// IPv4 total length of a frame.
pub(crate) fn total_length(frame_size: FrameSize, tagged: bool) -> u16 {
    // A frame size is at most 9018, and at least 64 where 18 are taken off.
    (frame_size.bytes_without_fcs() - ip_offset(tagged)) as u16
}

fn write_link(bytes: &mut [u8], spec: &TemplateSpec) -> Option<()> {
    let (header, rest) = bytes.split_first_chunk_mut()?;
    let ether_type = match spec.vlan {
        None => ethernet::TYPE_IPV4,
        Some(tag) => {
            let tail = rest.first_chunk_mut::<{ vlan::TAG_BYTES }>()?;
            tail[..2].copy_from_slice(&tag.control().to_be_bytes());
            tail[2..].copy_from_slice(&ethernet::TYPE_IPV4.to_be_bytes());
            vlan::TPID_CUSTOMER
        }
    };
    ethernet::write(header, spec.destination_mac, spec.source_mac, ether_type);
    Some(())
}

fn write_flow(head: &mut [u8; HEAD_BYTES], flow: &Flow, ip_checksum: u16) {
    head[ipv4::CHECKSUM..ipv4::SOURCE].copy_from_slice(&ip_checksum.to_be_bytes());
    head[ipv4::SOURCE..ipv4::SOURCE + 4].copy_from_slice(&flow.source.octets());
    head[ipv4::SOURCE + 4..UDP].copy_from_slice(&flow.destination.octets());
    head[UDP..UDP + 2].copy_from_slice(&flow.source_port.to_be_bytes());
    head[UDP + 2..UDP + 4].copy_from_slice(&flow.destination_port.to_be_bytes());
}

fn address_sum(flow: &Flow) -> Sum {
    Sum::default()
        .add_u32(flow.source.into())
        .add_u32(flow.destination.into())
}

fn port_sum(flow: &Flow) -> Sum {
    Sum::default()
        .add_u16(flow.source_port)
        .add_u16(flow.destination_port)
}

#[cfg(test)]
mod tests;
