//! The IPv4 header without options (RFC 791 §3.1).

use std::net::Ipv4Addr;

use crate::checksum::Sum;

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;
/// Version 4 and a header of five 32-bit words: the only first byte we send.
pub const VERSION_IHL: u8 = 0x45;
/// Protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// Time to live of frames we send.
pub const TTL: u8 = 64;

const SERVICE: usize = 1;
const TOTAL_LENGTH: usize = 2;
const IDENTIFICATION: usize = 4;
const FLAGS: usize = 6;
const TIME_TO_LIVE: usize = 8;
const PROTOCOL: usize = 9;
/// Where the header checksum stands.
pub const CHECKSUM: usize = 10;
/// Where the source address stands; the destination follows.
pub const SOURCE: usize = 12;
const DESTINATION: usize = 16;
const DONT_FRAGMENT: u8 = 0x40;

/// A borrowed header. Options, if there are any, are not part of it.
#[derive(Debug, Clone, Copy)]
pub struct Ipv4Header<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> Ipv4Header<'a> {
    /// The header at the start of `packet`, if that is long enough.
    pub fn new(packet: &'a [u8]) -> Option<Self> {
        packet.first_chunk().map(Self)
    }

    /// First byte: version and header length in words.
    pub fn version_ihl(self) -> u8 {
        self.0[0]
    }

    /// Bytes of header and payload.
    pub fn total_length(self) -> u16 {
        self.word(TOTAL_LENGTH)
    }

    /// Hops left.
    pub fn ttl(self) -> u8 {
        self.0[TIME_TO_LIVE]
    }

    /// Protocol of the payload.
    pub fn protocol(self) -> u8 {
        self.0[PROTOCOL]
    }

    /// Header checksum as carried.
    pub fn checksum(self) -> u16 {
        self.word(CHECKSUM)
    }

    /// Whether the header checksum is right.
    pub fn checksum_is_right(self) -> bool {
        Sum::default().add_bytes(self.0).is_all_ones()
    }

    /// Source address.
    pub fn source(self) -> Ipv4Addr {
        self.address(SOURCE)
    }

    /// Destination address.
    pub fn destination(self) -> Ipv4Addr {
        self.address(DESTINATION)
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    fn address(self, at: usize) -> Ipv4Addr {
        let bytes = self.0;
        Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
    }
}

/// Writes a UDP packet's header for `total_length` bytes, checksum included.
///
/// The identification may be anything, as RFC 6864 §4.1 allows for packets that are not to be fragmented.
pub fn write(
    header: &mut [u8; HEADER_BYTES],
    identification: u16,
    total_length: u16,
    addresses: [Ipv4Addr; 2],
) {
    fill(header, 0, PROTOCOL_UDP, total_length, addresses);
    header[IDENTIFICATION..FLAGS].copy_from_slice(&identification.to_be_bytes());
    sum(header);
}

/// Writes a packet's header with a DSCP (0 to 63) and a protocol, checksum included. Its identification is zero.
pub fn write_as(
    header: &mut [u8; HEADER_BYTES],
    dscp: u8,
    protocol: u8,
    total_length: u16,
    addresses: [Ipv4Addr; 2],
) {
    fill(header, dscp, protocol, total_length, addresses);
    sum(header);
}

/// All but identification and checksum.
fn fill(
    header: &mut [u8; HEADER_BYTES],
    dscp: u8,
    protocol: u8,
    total_length: u16,
    [source, destination]: [Ipv4Addr; 2],
) {
    header.fill(0);
    header[0] = VERSION_IHL;
    header[SERVICE] = dscp << 2;
    header[TOTAL_LENGTH..TOTAL_LENGTH + 2].copy_from_slice(&total_length.to_be_bytes());
    header[FLAGS] = DONT_FRAGMENT;
    header[TIME_TO_LIVE] = TTL;
    header[PROTOCOL] = protocol;
    header[SOURCE..DESTINATION].copy_from_slice(&source.octets());
    header[DESTINATION..].copy_from_slice(&destination.octets());
}

/// Writes the checksum, where zeros stand.
fn sum(header: &mut [u8; HEADER_BYTES]) {
    let checksum = Sum::default().add_bytes(header.as_slice()).checksum();
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}
