//! A packet socket and its options.
#![allow(unsafe_code)] // edge: the C library's socket calls

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::PortError;

/// `PACKET_IGNORE_OUTGOING` of linux/if_packet.h (4.20).
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A raw packet socket bound to one interface.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    interface: String,
    index: libc::c_int,
}

impl Socket {
    /// Opens a socket in the calling thread's network namespace. It receives nothing until
    /// [`Self::bind`] names a protocol.
    pub(crate) fn open(interface: &str) -> Result<Self, PortError> {
        // SAFETY: no pointers; the result is checked before it becomes an OwnedFd.
        let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if raw < 0 {
            return Err(PortError::last(interface, "open a packet socket"));
        }
        // SAFETY: `raw` is a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let name = CString::new(interface).map_err(|_| {
            PortError::system(
                interface,
                "use this name",
                io::Error::from_raw_os_error(libc::EINVAL),
            )
        })?;
        // SAFETY: `name` is a valid C string for the length of the call.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(PortError::last(interface, "find the interface"));
        }
        Ok(Self {
            fd,
            interface: interface.to_owned(),
            index: index as libc::c_int,
        })
    }

    /// Binds to the interface; `protocol` 0 receives nothing, `ETH_P_ALL` everything.
    pub(crate) fn bind(&self, protocol: libc::c_int) -> Result<(), PortError> {
        // SAFETY: an all-zero sockaddr_ll is valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (protocol as u16).to_be();
        address.sll_ifindex = self.index;
        // SAFETY: the address lives for the call and its size is given.
        let done = unsafe {
            libc::bind(
                self.raw(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        self.check(done, "bind the packet socket")
    }

    /// Binds to an EtherType that nobody sends (IEEE 802 local experimental 1): only a socket that
    /// listens to something is told that the interface went down.
    pub(crate) fn bind_to_nothing(&self) -> Result<(), PortError> {
        self.bind(0x88b5)
    }

    /// Sets an option of level `SOL_PACKET` or `SOL_SOCKET`.
    pub(crate) fn set<T>(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        value: &T,
        operation: &'static str,
    ) -> Result<(), PortError> {
        // SAFETY: `value` is a plain C value that lives for the call, its size is given.
        let done = unsafe {
            libc::setsockopt(
                self.raw(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        self.check(done, operation)
    }

    /// Reads an option into a zeroed `T`.
    pub(crate) fn get<T: Copy>(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        operation: &'static str,
    ) -> Result<T, PortError> {
        // SAFETY: only used with plain C integers and structs, for which zero is valid.
        let mut value: T = unsafe { zeroed() };
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: value and length live for the call; the kernel writes at most `length` bytes.
        let done = unsafe {
            libc::getsockopt(
                self.raw(),
                level,
                option,
                (&raw mut value).cast(),
                &raw mut length,
            )
        };
        self.check(done, operation)?;
        Ok(value)
    }

    /// Sees frames for other addresses too. Undone by the kernel when the socket closes, so the
    /// interface is left as it was found.
    pub(crate) fn promiscuous(&self) -> Result<(), PortError> {
        let request = libc::packet_mreq {
            mr_ifindex: self.index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            &request,
            "see all frames",
        )
    }

    /// Does not see what this host sends through the interface.
    pub(crate) fn ignore_outgoing(&self) -> Result<(), PortError> {
        let on: libc::c_int = 1;
        self.set(
            libc::SOL_PACKET,
            PACKET_IGNORE_OUTGOING,
            &on,
            "ignore outgoing frames",
        )
    }

    /// Number of the interface in its network namespace.
    pub(crate) fn index(&self) -> u32 {
        self.index.unsigned_abs()
    }

    /// Interface name.
    pub(crate) fn interface(&self) -> &str {
        &self.interface
    }

    /// Descriptor for system calls.
    pub(crate) fn raw(&self) -> libc::c_int {
        self.fd.as_raw_fd()
    }

    /// Whether the interface still exists and is up. The kernel puts ENETDOWN into the socket when
    /// it goes, and tells it once; the flags say it for as long as it lasts.
    pub(crate) fn check_up(&self) -> Result<(), PortError> {
        let error: libc::c_int =
            self.get(libc::SOL_SOCKET, libc::SO_ERROR, "read the socket's error")?;
        let error = match error {
            0 if self.is_up()? => return Ok(()),
            0 => libc::ENETDOWN,
            error => error,
        };
        Err(PortError::system(
            &self.interface,
            "use the interface",
            io::Error::from_raw_os_error(error),
        ))
    }

    /// IFF_UP of the interface, in the socket's namespace.
    fn is_up(&self) -> Result<bool, PortError> {
        // SAFETY: an all-zero ifreq is valid.
        let mut request: libc::ifreq = unsafe { zeroed() };
        // The name has passed if_nametoindex, so it fits with its end.
        for (to, from) in request.ifr_name.iter_mut().zip(self.interface.bytes()) {
            *to = from as libc::c_char;
        }
        // SAFETY: SIOCGIFFLAGS takes a pointer to an ifreq, which lives through the call.
        let done = unsafe { libc::ioctl(self.raw(), libc::SIOCGIFFLAGS as _, &raw mut request) };
        self.check(done, "read the interface's flags")?;
        // SAFETY: SIOCGIFFLAGS fills the flags.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }

    fn check(&self, result: libc::c_int, operation: &'static str) -> Result<(), PortError> {
        if result < 0 {
            Err(PortError::last(&self.interface, operation))
        } else {
            Ok(())
        }
    }
}
