//! The command structures of SIOCETHTOOL as bytes, and the call itself.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Longest name of a feature or counter, and length of the driver's strings, in bytes.
pub(super) const ETH_GSTRING_LEN: usize = 32;
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// A command structure of ethtool.h as bytes, command number first.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
}

impl Request {
    pub(super) fn new(command: u32, size: usize) -> Self {
        let mut request = Self {
            bytes: vec![0; size],
        };
        request.put_word(0, command);
        request
    }

    pub(super) fn put_word(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.bytes[at..at + 4]);
        u32::from_ne_bytes(word)
    }

    pub(super) fn long(&self, at: usize) -> u64 {
        let mut long = [0; 8];
        long.copy_from_slice(&self.bytes[at..at + 8]);
        u64::from_ne_bytes(long)
    }

    pub(super) fn text(&self, at: usize) -> String {
        let field = &self.bytes[at..at + ETH_GSTRING_LEN];
        let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    }
}

/// Asks the driver of `interface`, a name that passed `check_name`; the answer replaces the
/// request.
#[allow(unsafe_code)] // No safe wrapper knows SIOCETHTOOL.
pub(super) fn ioctl(socket: &OwnedFd, interface: &str, request: &mut Request) -> io::Result<()> {
    // SAFETY: `ifreq` is plain old data, for which all zeros is a value.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    // check_name() left room for the final NUL.
    for (to, from) in ifreq.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    ifreq.ifr_ifru.ifru_data = request.bytes.as_mut_ptr().cast();
    // SAFETY: the descriptor is open, `ifreq` names a NUL-terminated interface and points to a
    // buffer that lives through the call and is as large as the command's structure (with room
    // to spare where the kernel decides how much it writes).
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut ifreq) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_out_of_the_structure() {
        let mut request = Request::new(3, 196);
        request.bytes[4..8].copy_from_slice(b"veth");
        assert_eq!(request.text(4), "veth");
        assert_eq!(request.text(36), "");
        assert_eq!(request.word(0), 3);
    }
}
