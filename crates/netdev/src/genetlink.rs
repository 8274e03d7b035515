//! Generic netlink messages, as far as this crate asks any (include/uapi/linux/genetlink.h).

use std::io;

use crate::netlink::Channel;
use crate::raw::RawMessage;

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
        let mut request = RawMessage::genl(Self(GENL_ID_CTRL), CTRL_CMD_GETFAMILY);
        request.put_str(CTRL_ATTR_FAMILY_NAME, name);
        channel
            .query(request, 0)?
            .iter()
            .find_map(|answer| answer.u16(CTRL_ATTR_FAMILY_ID))
            .map(Self)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }
}

/// A command or its answer: a header of four bytes and flat attributes.
impl RawMessage {
    pub(crate) fn genl(family: Family, command: u8) -> Self {
        Self::new(family.0, &[command, 1, 0, 0])
    }

    pub(crate) fn put_u32(&mut self, kind: u16, value: u32) {
        self.put(kind, &value.to_ne_bytes());
    }

    pub(crate) fn put_u64(&mut self, kind: u16, value: u64) {
        self.put(kind, &value.to_ne_bytes());
    }

    pub(crate) fn u8(&self, kind: u16) -> Option<u8> {
        self.value(kind)?.first().copied()
    }

    pub(crate) fn u16(&self, kind: u16) -> Option<u16> {
        self.value(kind)?.try_into().ok().map(u16::from_ne_bytes)
    }

    pub(crate) fn u32(&self, kind: u16) -> Option<u32> {
        self.value(kind)?.try_into().ok().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&self, kind: u16) -> Option<u64> {
        self.value(kind)?.try_into().ok().map(u64::from_ne_bytes)
    }

    pub(crate) fn value(&self, kind: u16) -> Option<&[u8]> {
        self.attributes(HEADER_BYTES).find(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_survive_padding_and_cut_messages() {
        let mut message = RawMessage::genl(Family(30), 7);
        message.put(2, b"abc\0x");
        message.put_u32(4, 77);
        assert_eq!(message.u32(4), Some(77));
        assert_eq!(message.value(2), Some(&b"abc\0x"[..]));
        assert_eq!(message.u32(9), None);
        message.body.truncate(message.body.len() - 2);
        assert_eq!(message.u32(4), None);
    }
}
