//! A packet socket and its options.
#![allow(unsafe_code)] // edge: the C library's socket calls

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::netdevice::name_to_index;
use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::error::PortError;
use crate::sockopt::{self, checked};

/// `PACKET_IGNORE_OUTGOING` of linux/if_packet.h (4.20).
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Switches an option on.
pub(crate) const ON: libc::c_int = 1;

/// A raw packet socket bound to one interface.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    interface: String,
    index: u32,
}

impl Socket {
    /// Opens a socket in the calling thread's network namespace. It receives nothing until
    /// [`Self::bind`] names a protocol.
    pub(crate) fn open(interface: &str) -> Result<Self, PortError> {
        let failed = |operation| move |error| PortError::system(interface, operation, error);
        let flags = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)
            .map_err(failed("open a packet socket"))?;
        let index = name_to_index(&fd, interface).map_err(failed("find the interface"))?;
        let interface = interface.to_owned();
        Ok(Self {
            fd,
            interface,
            index,
        })
    }

    /// Binds to the interface; `protocol` 0 receives nothing, `ETH_P_ALL` everything.
    pub(crate) fn bind(&self, protocol: libc::c_int) -> Result<(), PortError> {
        // SAFETY: an all-zero sockaddr_ll is valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (protocol as u16).to_be();
        address.sll_ifindex = self.index.cast_signed();
        // SAFETY: the address lives for the call and its size is given.
        let bound = checked(unsafe {
            libc::bind(
                self.raw(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        });
        bound.map_err(|error| self.error("bind the packet socket", error))
    }

    /// Binds to an EtherType that nobody sends (IEEE 802 local experimental 1): only a socket that
    /// listens to something is told that the interface went down.
    pub(crate) fn bind_to_nothing(&self) -> Result<(), PortError> {
        self.bind(0x88b5)
    }

    /// Sets an option of level `SOL_PACKET`.
    pub(crate) fn set<T>(
        &self,
        option: libc::c_int,
        value: &T,
        operation: &'static str,
    ) -> Result<(), PortError> {
        sockopt::set(self, libc::SOL_PACKET, option, value)
            .map_err(|error| self.error(operation, error))
    }

    /// Frames dropped because the receive ring was full, since the last call.
    pub(crate) fn take_drops(&self) -> Result<u64, PortError> {
        let read = sockopt::get(self, libc::SOL_PACKET, libc::PACKET_STATISTICS);
        let stats: libc::tpacket_stats =
            read.map_err(|error| self.error("read the receive ring's drops", error))?;
        Ok(stats.tp_drops.into())
    }

    /// Sees frames for other addresses too. Undone by the kernel when the socket closes, so the
    /// interface is left as it was found.
    pub(crate) fn promiscuous(&self) -> Result<(), PortError> {
        let request = libc::packet_mreq {
            mr_ifindex: self.index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::PACKET_ADD_MEMBERSHIP, &request, "see all frames")
    }

    /// Does not see what this host sends through the interface.
    pub(crate) fn ignore_outgoing(&self) -> Result<(), PortError> {
        self.set(PACKET_IGNORE_OUTGOING, &ON, "ignore outgoing frames")
    }

    /// Number of the interface in its network namespace.
    pub(crate) fn index(&self) -> u32 {
        self.index
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
        let told = socket_error(self).map_err(|e| self.error("read the socket's error", e))?;
        let error = match told {
            Ok(()) if self.is_up()? => return Ok(()),
            Ok(()) => rustix::io::Errno::NETDOWN,
            Err(error) => error,
        };
        Err(self.error("use the interface", error))
    }

    /// IFF_UP of the interface, in the socket's namespace.
    fn is_up(&self) -> Result<bool, PortError> {
        // SAFETY: an all-zero ifreq is valid.
        let mut request: libc::ifreq = unsafe { zeroed() };
        // The kernel has found the name, so it fits with its end.
        for (to, from) in request.ifr_name.iter_mut().zip(self.interface.bytes()) {
            *to = from as libc::c_char;
        }
        // SAFETY: SIOCGIFFLAGS takes a pointer to an ifreq, which lives through the call.
        let done = unsafe { libc::ioctl(self.raw(), libc::SIOCGIFFLAGS as _, &raw mut request) };
        checked(done).map_err(|error| self.error("read the interface's flags", error))?;
        // SAFETY: SIOCGIFFLAGS fills the flags.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }

    fn error(&self, operation: &'static str, error: impl Into<io::Error>) -> PortError {
        PortError::system(&self.interface, operation, error)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
