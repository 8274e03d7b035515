//! Generic netlink messages, as far as this crate asks any (include/uapi/linux/genetlink.h).

use std::convert::Infallible;
use std::io;

use netlink_packet_core::{NetlinkDeserializable, NetlinkHeader, NetlinkSerializable, NlaBuffer};

use crate::netlink::Channel;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const HEADER_BYTES: usize = 4;

/// Number of a family; the kernel hands them out at boot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Family(u16);

#[cfg(test)]
impl Family {
    /// One that no kernel has handed out.
    pub(crate) fn fake() -> Self {
        Self(21)
    }
}

impl Family {
    /// Looks a family up by name; ENOENT when the kernel does not have it.
    pub(crate) fn find(channel: &Channel, name: &str) -> io::Result<Self> {
        let mut request = GenlMessage::new(Self(GENL_ID_CTRL), CTRL_CMD_GETFAMILY);
        request.put_str(CTRL_ATTR_FAMILY_NAME, name);
        channel
            .query(request, 0)?
            .iter()
            .find_map(|answer| answer.u16(CTRL_ATTR_FAMILY_ID))
            .map(Self)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }
}

/// A command or its answer: header and flat attributes.
#[derive(Debug, Clone)]
pub(crate) struct GenlMessage {
    family: u16,
    body: Vec<u8>,
}

impl GenlMessage {
    pub(crate) fn new(family: Family, command: u8) -> Self {
        Self {
            family: family.0,
            body: vec![command, 1, 0, 0],
        }
    }

    /// One that was recorded, from its command on.
    #[cfg(test)]
    pub(crate) fn recorded(body: &[u8]) -> Self {
        Self {
            family: Family::fake().0,
            body: body.to_vec(),
        }
    }

    #[cfg(test)]
    pub(crate) fn command(&self) -> u8 {
        self.body[0]
    }

    #[cfg(test)]
    pub(crate) fn length(&self) -> usize {
        self.body.len()
    }

    #[cfg(test)]
    pub(crate) fn truncate(&mut self, length: usize) {
        self.body.truncate(length);
    }

    pub(crate) fn put_u32(&mut self, kind: u16, value: u32) {
        self.put(kind, &value.to_ne_bytes());
    }

    pub(crate) fn put_u64(&mut self, kind: u16, value: u64) {
        self.put(kind, &value.to_ne_bytes());
    }

    /// A string with its NUL.
    pub(crate) fn put_str(&mut self, kind: u16, text: &str) {
        self.put(kind, &[text.as_bytes(), b"\0"].concat());
    }

    pub(crate) fn put(&mut self, kind: u16, value: &[u8]) {
        let length = (HEADER_BYTES + value.len()) as u16;
        self.body.extend_from_slice(&length.to_ne_bytes());
        self.body.extend_from_slice(&kind.to_ne_bytes());
        self.body.extend_from_slice(value);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    pub(crate) fn u32(&self, kind: u16) -> Option<u32> {
        self.value(kind)?.try_into().ok().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&self, kind: u16) -> Option<u64> {
        self.value(kind)?.try_into().ok().map(u64::from_ne_bytes)
    }

    pub(crate) fn u8(&self, kind: u16) -> Option<u8> {
        self.value(kind)?.first().copied()
    }

    pub(crate) fn u16(&self, kind: u16) -> Option<u16> {
        self.value(kind)?.try_into().ok().map(u16::from_ne_bytes)
    }

    pub(crate) fn value(&self, kind: u16) -> Option<&[u8]> {
        let mut rest = self.body.get(HEADER_BYTES..)?;
        while let Ok(attribute) = NlaBuffer::new_checked(rest) {
            let length = usize::from(attribute.length());
            if attribute.kind() == kind {
                return rest.get(HEADER_BYTES..length);
            }
            rest = rest.get(length.next_multiple_of(4)..)?;
        }
        None
    }
}

impl NetlinkSerializable for GenlMessage {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        self.body.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..self.body.len()].copy_from_slice(&self.body);
    }
}

impl NetlinkDeserializable for GenlMessage {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        Ok(Self {
            family: header.message_type,
            body: payload.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_survive_padding_and_cut_messages() {
        let mut message = GenlMessage::new(Family(30), 7);
        message.put(2, b"abc\0x");
        message.put_u32(4, 77);
        assert_eq!(message.u32(4), Some(77));
        assert_eq!(message.value(2), Some(&b"abc\0x"[..]));
        assert_eq!(message.u32(9), None);
        message.body.truncate(message.body.len() - 2);
        assert_eq!(message.u32(4), None);
    }
}
