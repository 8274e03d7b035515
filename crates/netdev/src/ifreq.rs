//! Calls about one interface that go by its name (netdevice(7)).
#![allow(unsafe_code)] // edge: no safe wrapper knows these calls

use std::ffi::c_void;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::net_error::NetError;
use crate::netns::NetNs;

/// A socket that asks about the interfaces of one namespace, whatever thread uses it.
#[derive(Debug)]
pub(crate) struct Interfaces(OwnedFd);

impl Interfaces {
    pub(crate) fn open(ns: &NetNs, operation: &'static str) -> Result<Self, NetError> {
        let socket = ns
            .run(|| UdpSocket::bind(("0.0.0.0", 0)))?
            .map_err(|e| NetError::new(operation, ns, e))?;
        Ok(Self(socket.into()))
    }

    /// One call about an interface whose name has passed `check_name`.
    ///
    /// # Safety
    /// `data` points to what the request reads and writes, in its whole length.
    pub(crate) unsafe fn call(
        &self,
        interface: &str,
        request: libc::c_ulong,
        data: *mut c_void,
    ) -> io::Result<()> {
        let mut ifreq = ifreq(interface);
        ifreq.ifr_ifru.ifru_data = data.cast();
        // SAFETY: the descriptor is open, `ifreq` names a NUL-terminated interface, and the caller
        // vouches for what it points to.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, &raw mut ifreq) };
        match done {
            ..0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

/// The argument of these calls, for an interface whose name has passed `check_name`.
pub(crate) fn ifreq(interface: &str) -> libc::ifreq {
    // SAFETY: it is plain old data, for which all zeros is a value.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    // check_name() left room for the final NUL.
    for (to, from) in ifreq.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    ifreq
}
