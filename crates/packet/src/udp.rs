//! The UDP header (RFC 768).

use std::net::Ipv4Addr;

use crate::checksum::Sum;
use crate::ipv4::PROTOCOL_UDP;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;
/// Where the source port stands; the destination port follows.
pub const SOURCE: usize = 0;
/// Where the checksum stands.
pub const CHECKSUM: usize = 6;

const DESTINATION: usize = 2;
const LENGTH: usize = 4;

/// A borrowed header.
#[derive(Debug, Clone, Copy)]
pub struct UdpHeader<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> UdpHeader<'a> {
    /// The header at the start of `datagram`, if that is long enough.
    pub fn new(datagram: &'a [u8]) -> Option<Self> {
        datagram.first_chunk().map(Self)
    }

    /// Source port.
    pub fn source(self) -> u16 {
        self.word(SOURCE)
    }

    /// Destination port.
    pub fn destination(self) -> u16 {
        self.word(DESTINATION)
    }

    /// Bytes of header and payload.
    pub fn length(self) -> u16 {
        self.word(LENGTH)
    }

    /// Checksum as carried; zero means the sender computed none.
    pub fn checksum(self) -> u16 {
        self.word(CHECKSUM)
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }
}

/// Writes a header with the checksum left zero.
pub fn write(header: &mut [u8; HEADER_BYTES], source: u16, destination: u16, length: u16) {
    header[SOURCE..DESTINATION].copy_from_slice(&source.to_be_bytes());
    header[DESTINATION..LENGTH].copy_from_slice(&destination.to_be_bytes());
    header[LENGTH..CHECKSUM].copy_from_slice(&length.to_be_bytes());
    header[CHECKSUM..].fill(0);
}

/// Sum over the pseudo header of a datagram of `length` bytes.
pub fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, length: u16) -> Sum {
    Sum::default()
        .add_u32(source.into())
        .add_u32(destination.into())
        .add_u16(u16::from(PROTOCOL_UDP))
        .add_u16(length)
}

/// The checksum to transmit for a sum over pseudo header, header and payload: zero goes out as
/// all ones, because zero would mean that there is none.
pub fn transmitted(sum: Sum) -> u16 {
    match sum.checksum() {
        0 => 0xffff,
        checksum => checksum,
    }
}
