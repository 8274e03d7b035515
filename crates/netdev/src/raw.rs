//! Route netlink messages put together and taken apart by hand: what the packet library does not
//! have, or reads too strictly.

use std::convert::Infallible;

use netlink_packet_core::{NetlinkDeserializable, NetlinkHeader, NetlinkSerializable};

const HEADER_BYTES: usize = 4;
/// NLA_F_NESTED and NLA_F_NET_BYTEORDER (include/uapi/linux/netlink.h) are no part of the kind.
const KIND_MASK: u16 = 0x3fff;
const NESTED: u16 = 0x8000;

/// A message: its type and what follows the netlink header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawMessage {
    pub(crate) kind: u16,
    pub(crate) body: Vec<u8>,
}

impl RawMessage {
    /// A message with its fixed header (`ifinfomsg`, `tcmsg`).
    pub(crate) fn new(kind: u16, header: &[u8]) -> Self {
        Self {
            kind,
            body: header.to_vec(),
        }
    }

    /// Appends an attribute.
    pub(crate) fn put(&mut self, kind: u16, value: &[u8]) {
        let start = self.open(kind);
        self.body.extend_from_slice(value);
        self.close(start);
    }

    /// Appends a string with its NUL.
    pub(crate) fn put_str(&mut self, kind: u16, text: &str) {
        self.put(kind, &[text.as_bytes(), b"\0"].concat());
    }

    /// Appends an attribute that holds attributes.
    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.open(kind | NESTED);
        fill(self);
        self.close(start);
    }

    fn open(&mut self, kind: u16) -> usize {
        let start = self.body.len();
        self.body.extend_from_slice(&[0, 0]);
        self.body.extend_from_slice(&kind.to_ne_bytes());
        start
    }

    fn close(&mut self, start: usize) {
        let length = u16::try_from(self.body.len() - start).unwrap_or(u16::MAX);
        self.body[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    /// The attributes behind a fixed header of `header` bytes.
    pub(crate) fn attributes(&self, header: usize) -> Attributes<'_> {
        Attributes {
            rest: self.body.get(header..).unwrap_or_default(),
        }
    }
}

/// The attributes in a piece of a message; ends at the first that is not whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The first attribute of a kind.
    pub(crate) fn find(mut self, wanted: u16) -> Option<&'a [u8]> {
        self.find_map(|(kind, value)| (kind == wanted).then_some(value))
    }

    /// What is not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.rest, 0)?);
        let kind = u16_at(self.rest, 2)? & KIND_MASK;
        let value = self.rest.get(HEADER_BYTES..length)?;
        let next = length.next_multiple_of(4);
        self.rest = self.rest.get(next..).unwrap_or_default();
        Some((kind, value))
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// A C string, as far as it is UTF-8.
pub(crate) fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|byte| *byte == 0);
    std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]).unwrap_or_default()
}

impl NetlinkSerializable for RawMessage {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.body.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..self.body.len()].copy_from_slice(&self.body);
    }
}

impl NetlinkDeserializable for RawMessage {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        Ok(Self {
            kind: header.message_type,
            body: payload.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_nested_padded_and_found() {
        let mut message = RawMessage::new(16, &[0; 16]);
        message.put_str(3, "eth0");
        message.nest(22, |list| {
            list.nest(1, |one| one.put(6, &[7; 12]));
            list.nest(1, |one| one.put(6, &[8; 12]));
        });
        assert_eq!(message.body.len() % 4, 0);
        let attributes = message.attributes(16);
        assert_eq!(attributes.find(3).map(text), Some("eth0"));
        let list = Attributes::of(attributes.find(22).unwrap());
        let rates: Vec<u8> = list
            .map(|(_, one)| Attributes::of(one).find(6).unwrap()[0])
            .collect();
        assert_eq!(rates, [7, 8]);
        assert_eq!(attributes.find(9), None);
    }

    #[test]
    fn cut_and_senseless_attributes_end_the_list() {
        for bytes in [
            &[][..],
            &[1],
            &[8, 0, 1, 0, 5],
            &[0, 0, 1, 0],
            &[3, 0, 1, 0],
        ] {
            assert_eq!(Attributes::of(bytes).count(), 0, "{bytes:?}");
        }
    }
}
