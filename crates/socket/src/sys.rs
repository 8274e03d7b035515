//! Socket options and messages that rustix does not know.

use std::io;
use std::mem::{size_of, size_of_val};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

// include/uapi/linux/udp.h
const UDP_SEGMENT: libc::c_int = 103;
const UDP_GRO: libc::c_int = 104;
// include/uapi/asm-generic/socket.h, include/uapi/linux/sock_diag.h
const SO_MEMINFO: libc::c_int = 55;
// include/uapi/linux/errqueue.h
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SK_MEMINFO_DROPS: usize = 8;
const SK_MEMINFO_VARS: usize = 9;

/// Lets the kernel cut every send into datagrams of `bytes`; 0 switches it off (udp(7)).
pub(crate) fn set_udp_segment(fd: &impl AsFd, bytes: u16) -> io::Result<()> {
    set_int(fd, libc::SOL_UDP, UDP_SEGMENT, libc::c_int::from(bytes))
}

/// Lets the kernel hand over neighbouring datagrams of equal length in one piece (udp(7)).
pub(crate) fn set_udp_gro(fd: &impl AsFd) -> io::Result<()> {
    set_int(fd, libc::SOL_UDP, UDP_GRO, 1)
}

/// Allows MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst).
pub(crate) fn set_zero_copy(fd: &impl AsFd) -> io::Result<()> {
    set_int(fd, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1)
}

#[allow(unsafe_code)]
fn set_int(
    fd: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: `value` lives through the call and its size is given.
    let done = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads an option into `into`; returns how many bytes the kernel wrote.
#[allow(unsafe_code)]
fn get(
    fd: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    into: &mut [u8],
) -> io::Result<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: `into` is writable for `length` bytes and the kernel writes no more than that.
    let done = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            into.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done == 0 {
        Ok((length as usize).min(into.len()))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The kernel's `struct tcp_info`, as many bytes as it has.
pub(crate) fn tcp_info(fd: &impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    get(fd, libc::IPPROTO_TCP, libc::TCP_INFO, into)
}

/// Datagrams dropped because the socket's buffer was full.
pub(crate) fn socket_drops(fd: &impl AsFd) -> Option<u64> {
    let mut info = [0; 4 * SK_MEMINFO_VARS];
    let length = get(fd, libc::SOL_SOCKET, SO_MEMINFO, &mut info).ok()?;
    let at = 4 * SK_MEMINFO_DROPS;
    let bytes = info.get(at..at + 4).filter(|_| length >= at + 4)?;
    Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)))
}

/// What the kernel said about zero-copy sends since it was asked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ZeroCopyDone {
    /// Sends that are over.
    pub(crate) sends: u64,
    /// Whether one of them was copied after all.
    pub(crate) copied: bool,
}

/// Takes one notice from the socket's error queue; `None` when there is none.
#[allow(unsafe_code)]
pub(crate) fn zero_copy_done(fd: &impl AsFd) -> io::Result<Option<ZeroCopyDone>> {
    let mut control = [0_u64; 16];
    // SAFETY: msghdr is plain data, all zero is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message points to `control`, which outlives the call, and to nothing else.
    let got = unsafe {
        libc::recvmsg(
            fd.as_fd().as_raw_fd(),
            &raw mut message,
            libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
        )
    };
    if got < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock => Ok(None),
            _ => Err(error),
        };
    }
    // SAFETY: the kernel filled `message`; CMSG_FIRSTHDR checks msg_controllen.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    let needed = size_of::<libc::cmsghdr>() + size_of::<libc::sock_extended_err>();
    // SAFETY: a header that is not null lies within `control`, aligned for it.
    if header.is_null() || (unsafe { (*header).cmsg_len } as usize) < needed {
        return Ok(Some(ZeroCopyDone::default()));
    }
    // SAFETY: cmsg_len says that a whole sock_extended_err follows the header.
    let error: libc::sock_extended_err =
        unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
    if error.ee_origin != SO_EE_ORIGIN_ZEROCOPY {
        return Ok(Some(ZeroCopyDone::default()));
    }
    Ok(Some(ZeroCopyDone {
        sends: u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1,
        copied: error.ee_code & 1 != 0, // SO_EE_CODE_ZEROCOPY_COPIED
    }))
}

/// Lets the calling thread's timers fire when they are due rather than up to 50 µs later
/// (prctl(2), PR_SET_TIMERSLACK).
pub(crate) fn sharp_timers() {
    // Refused, timers are late by some microseconds.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Whether there is something to read, or the peer has left; waits that long for it.
pub(crate) fn readable(fd: &impl AsFd, wait: Duration) -> bool {
    let mut polled = [PollFd::new(fd, PollFlags::IN)];
    let wait = Timespec::try_from(wait).ok();
    matches!(poll(&mut polled, wait.as_ref()), Ok(1..))
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}
