//! The TCP header without options (RFC 9293 §3.1).

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;
/// Protocol number of TCP.
pub const PROTOCOL: u8 = 6;
/// Where the checksum stands.
pub const CHECKSUM: usize = 16;

const SEQUENCE: usize = 4;
const ACKNOWLEDGED: usize = 8;
const OFFSET: usize = 12;
const FLAGS: usize = 13;
const WINDOW: usize = 14;
const ACK: u8 = 0x10;
/// Header length in words, in the upper half of its byte.
const WORDS: u8 = (HEADER_BYTES as u8 / 4) << 4;

/// Writes a segment's header with the checksum left zero: an acknowledgement with data, of no
/// connection.
pub fn write(header: &mut [u8; HEADER_BYTES], source: u16, destination: u16) {
    header.fill(0);
    header[..2].copy_from_slice(&source.to_be_bytes());
    header[2..SEQUENCE].copy_from_slice(&destination.to_be_bytes());
    header[SEQUENCE..ACKNOWLEDGED].copy_from_slice(&1_u32.to_be_bytes());
    header[ACKNOWLEDGED..OFFSET].copy_from_slice(&1_u32.to_be_bytes());
    header[OFFSET] = WORDS;
    header[FLAGS] = ACK;
    header[WINDOW..CHECKSUM].copy_from_slice(&u16::MAX.to_be_bytes());
}

/// Whether the fixed parts of a header are as [`write()`] leaves them.
pub fn is_ours(header: &[u8; HEADER_BYTES]) -> bool {
    header[OFFSET] == WORDS && header[FLAGS] == ACK
}
