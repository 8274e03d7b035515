//! The IPv6 header without extensions (RFC 8200 §3).

use std::net::Ipv6Addr;

use crate::checksum::Sum;

/// Bytes of a header without extensions.
pub const HEADER_BYTES: usize = 40;
/// EtherType of IPv6.
pub const ETHER_TYPE: u16 = 0x86dd;
/// Hops left of frames we send.
pub const HOP_LIMIT: u8 = 64;

const PAYLOAD_LENGTH: usize = 4;
const NEXT_HEADER: usize = 6;
const HOPS: usize = 7;
/// Where the source address stands; the destination follows.
pub const SOURCE: usize = 8;
const DESTINATION: usize = 24;

/// A borrowed header. Extensions, if there are any, are not part of it.
#[derive(Debug, Clone, Copy)]
pub struct Ipv6Header<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> Ipv6Header<'a> {
    /// The header at the start of `packet`, if that is long enough.
    pub fn new(packet: &'a [u8]) -> Option<Self> {
        packet.first_chunk().map(Self)
    }

    /// Version: 6.
    pub fn version(self) -> u8 {
        self.0[0] >> 4
    }

    /// Bytes behind the header.
    pub fn payload_length(self) -> u16 {
        u16::from_be_bytes([self.0[PAYLOAD_LENGTH], self.0[PAYLOAD_LENGTH + 1]])
    }

    /// Protocol of what follows.
    pub fn next_header(self) -> u8 {
        self.0[NEXT_HEADER]
    }

    /// Source address.
    pub fn source(self) -> Ipv6Addr {
        self.address(SOURCE)
    }

    /// Destination address.
    pub fn destination(self) -> Ipv6Addr {
        self.address(DESTINATION)
    }

    fn address(self, at: usize) -> Ipv6Addr {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.0[at..at + 16]);
        Ipv6Addr::from(bytes)
    }
}

/// Writes the header of a packet with `payload_length` bytes behind it; the flow label is zero.
pub fn write(
    header: &mut [u8; HEADER_BYTES],
    dscp: u8,
    next_header: u8,
    payload_length: u16,
    addresses: [Ipv6Addr; 2],
) {
    // Version 4 bits, traffic class 8 (DSCP and two of ECN), flow label 20.
    let first = 6 << 28 | u32::from(dscp) << 22;
    header[..PAYLOAD_LENGTH].copy_from_slice(&first.to_be_bytes());
    header[PAYLOAD_LENGTH..NEXT_HEADER].copy_from_slice(&payload_length.to_be_bytes());
    header[NEXT_HEADER] = next_header;
    header[HOPS] = HOP_LIMIT;
    write_addresses(header, addresses);
}

/// Writes the addresses alone.
pub fn write_addresses(header: &mut [u8; HEADER_BYTES], [source, destination]: [Ipv6Addr; 2]) {
    header[SOURCE..DESTINATION].copy_from_slice(&source.octets());
    header[DESTINATION..].copy_from_slice(&destination.octets());
}

/// Sum over an address.
pub fn address_sum(address: Ipv6Addr) -> Sum {
    let words = address.segments().into_iter();
    words.fold(Sum::default(), Sum::add_u16)
}
