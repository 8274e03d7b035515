//! TAP devices: network interfaces whose other end is a file.
#![allow(unsafe_code)] // ioctl(2) and poll(2) have no safe wrapper among the dependencies.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Frames an interface may hold for us: more than arrive while this process waits for a CPU.
const QUEUE_FRAMES: libc::c_int = 16_384;

/// Makes the interface `name` in the calling thread's network namespace; it lives as long as
/// the file. Reads and writes are one whole frame each, without FCS, and never wait.
pub(super) fn open(name: &str) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    control(&file, libc::TUNSETIFF as libc::Ioctl, &mut request)?;
    // SAFETY: no pointers; the result is checked before it becomes an OwnedFd.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `raw` is a fresh descriptor that nobody else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    request.ifr_ifru.ifru_metric = QUEUE_FRAMES;
    // Root of the host only (net/core/dev_ioctl.c): others have to do with the kernel's 500, and
    // a sender that is refused sends the frame again.
    let _ = control(&socket, libc::SIOCSIFTXQLEN as libc::Ioctl, &mut request);
    Ok(file)
}

/// Waits until one of the files has a frame, or `milliseconds` have passed.
pub(super) fn wait(files: [&File; 2], milliseconds: i32) {
    let mut polled = files.map(|file| libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the array lives through the call and its length is given. An interruption only
    // means that the caller looks early.
    unsafe {
        libc::poll(
            polled.as_mut_ptr(),
            polled.len() as libc::nfds_t,
            milliseconds,
        )
    };
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: the name's end.
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn control(file: &impl AsRawFd, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the descriptor is open, and both calls used here take a pointer to an ifreq, which
    // lives through them.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), what, std::ptr::from_mut(request)) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
