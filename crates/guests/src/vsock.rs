//! The link to the host of a guest that has no virtio-serial port (vsock(7)).
//!
//! Cloud Hypervisor ends it at a socket of the host: what connects to port P of the host in the guest comes
//! out at the socket `NAME_P`, where NAME is that of its own end (its docs/vsock.md).
#![allow(unsafe_code)] // edge: an address that rustix has no type for

use std::fs::File;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{AddressFamily, SocketType, connect, socket};

/// Port of the host for the guest's channel; any will do.
pub const PORT: u32 = 1;
/// The guest's kernel module.
pub const MODULE: &str = "vmw_vsock_virtio_transport";

/// Listens for the guest whose program has its end at `vsock`.
///
/// # Errors
/// When the socket cannot be made.
pub fn listen(vsock: &Path) -> io::Result<UnixListener> {
    let mut name = vsock.as_os_str().to_owned();
    name.push(format!("_{PORT}"));
    let listener = UnixListener::bind(PathBuf::from(name))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects to the host, in a guest.
///
/// # Errors
/// When the kernel has no such device, or nobody listens.
pub(crate) fn to_host() -> io::Result<File> {
    let socket = socket(AddressFamily::VSOCK, SocketType::STREAM, None)?;
    connect(&socket, &Host)?;
    Ok(socket.into())
}

/// Port [`PORT`] of the host.
struct Host;

// SAFETY: the pointer is to a whole sockaddr_vm with its length, alive for the call.
unsafe impl SocketAddrArg for Host {
    unsafe fn with_sockaddr<R>(
        &self,
        f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R,
    ) -> R {
        // SAFETY: it is made of integers, for which zeroes are values.
        let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        address.svm_cid = libc::VMADDR_CID_HOST;
        address.svm_port = PORT;
        f(
            (&raw const address).cast(),
            size_of::<libc::sockaddr_vm>() as SocketAddrLen,
        )
    }
}
