//! Sockets between a host and its virtual machines (vsock(7)): the kernel says which machine a
//! connection comes from, and nobody inside can pretend to be another.
#![allow(unsafe_code)] // edge: the C library's socket calls for an address that rustix does not have

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Highest port that only the privileged may bind (LAST_RESERVED_PORT, net/vmw_vsock/af_vsock.c).
const RESERVED: u32 = 1023;
/// Connections that wait to be accepted.
const BACKLOG: libc::c_int = 16;

/// A listening socket that does not block.
#[derive(Debug)]
pub struct VsockListener(OwnedFd);

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Number of the machine; 1 for this one.
    pub cid: u32,
    /// The peer was privileged when it bound its port.
    pub privileged: bool,
}

impl VsockListener {
    /// Listens to all machines.
    ///
    /// # Errors
    /// When the kernel has no vsock, or somebody listens there.
    pub fn bind(port: u32) -> io::Result<Self> {
        let fd = socket()?;
        let address = address(libc::VMADDR_CID_ANY, port);
        bind(&fd, &address)?;
        // SAFETY: no pointers.
        done(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Self(fd))
    }

    /// The next connection, which does not block either.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when nobody waits.
    pub fn accept(&self) -> io::Result<(OwnedFd, Peer)> {
        let mut from = address(0, 0);
        let mut length = size_of::<libc::sockaddr_vm>() as libc::socklen_t;
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: address and length live for the call; the kernel writes at most `length` bytes.
        let raw = unsafe {
            libc::accept4(
                self.0.as_raw_fd(),
                (&raw mut from).cast(),
                &raw mut length,
                flags,
            )
        };
        done(raw)?;
        // SAFETY: `raw` is a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let peer = Peer {
            cid: from.svm_cid,
            privileged: from.svm_port <= RESERVED,
        };
        Ok((fd, peer))
    }
}

impl AsFd for VsockListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for VsockListener {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Connects to a machine from a privileged port, waiting as long as the kernel does (2 s).
///
/// # Errors
/// When this process may bind no privileged port, the kernel has no way there, or nobody listens.
pub fn connect(cid: u32, port: u32) -> io::Result<OwnedFd> {
    let fd = socket()?;
    let from =
        (512..=RESERVED).find_map(
            |port| match bind(&fd, &address(libc::VMADDR_CID_ANY, port)) {
                Err(error) if error.raw_os_error() == Some(libc::EADDRINUSE) => None,
                other => Some(other),
            },
        );
    from.unwrap_or_else(|| Err(io::Error::from_raw_os_error(libc::EADDRINUSE)))?;
    let to = address(cid, port);
    // SAFETY: the address lives for the call and its size is given.
    done(unsafe {
        libc::connect(
            fd.as_raw_fd(),
            (&raw const to).cast(),
            size_of::<libc::sockaddr_vm>() as libc::socklen_t,
        )
    })?;
    Ok(fd)
}

fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers.
    let raw = unsafe { libc::socket(libc::AF_VSOCK, kind, 0) };
    done(raw)?;
    // SAFETY: `raw` is a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

fn address(cid: u32, port: u32) -> libc::sockaddr_vm {
    // SAFETY: an all-zero sockaddr_vm is valid.
    let mut address: libc::sockaddr_vm = unsafe { zeroed() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    address.svm_cid = cid;
    address.svm_port = port;
    address
}

fn bind(fd: &OwnedFd, address: &libc::sockaddr_vm) -> io::Result<()> {
    // SAFETY: the address lives for the call and its size is given.
    done(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            std::ptr::from_ref(address).cast(),
            size_of::<libc::sockaddr_vm>() as libc::socklen_t,
        )
    })
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
