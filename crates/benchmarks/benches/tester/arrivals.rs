//! Intervals between arrivals, by the kernel's time stamps, for whoever sends: a socket that is
//! read only afterwards, so that reading takes no time from what is measured. It keeps the first
//! 300,000 frames or so and none after them.
#![allow(unsafe_code)] // edge: socket calls

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use anyhow::{Context as _, Result};
use nicety_paths::PathPort;

/// Room in the socket; the kernel charges some 800 bytes per 64-byte frame.
const ROOM_BYTES: libc::c_int = 256 << 20;
/// `SIOCGSTAMPNS_OLD` of linux/sockios.h: when the last frame read had arrived.
const SIOCGSTAMPNS: libc::Ioctl = 0x8907;

/// A socket that keeps what arrives.
#[derive(Debug)]
pub struct Arrivals(OwnedFd);

impl Arrivals {
    /// Starts keeping frames that arrive at `port`.
    pub fn open(port: &PathPort) -> Result<Self> {
        let index = libc::c_int::try_from(port.index)?;
        port.ns
            .run(|| Self::bound(index))?
            .context("cannot watch arrivals")
    }

    fn bound(index: libc::c_int) -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked before it becomes an OwnedFd.
        let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        check(raw)?;
        // SAFETY: a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let room = ROOM_BYTES;
        // SAFETY: the value lives for the call and its size is given.
        check(unsafe {
            libc::setsockopt(
                raw,
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const room).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        })?;
        let arrivals = Self(fd);
        // The first question switches the stamps on; there is no frame yet to answer for.
        let _ = arrivals.stamp_ns();
        // SAFETY: an all-zero sockaddr_ll is valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        address.sll_ifindex = index;
        // SAFETY: the address lives for the call and its size is given.
        check(unsafe {
            libc::bind(
                raw,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        })?;
        Ok(arrivals)
    }

    /// Takes the arrival times of all kept frames, in nanoseconds.
    pub fn take(&self) -> io::Result<Vec<i64>> {
        let mut times = Vec::new();
        let mut frame = [0_u8; 64];
        loop {
            // SAFETY: the buffer lives for the call and its size is given.
            let got = unsafe {
                libc::recv(
                    self.0.as_raw_fd(),
                    frame.as_mut_ptr().cast(),
                    frame.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            if got < 0 {
                let error = io::Error::last_os_error();
                return match error.kind() {
                    io::ErrorKind::WouldBlock => Ok(times),
                    _ => Err(error),
                };
            }
            times.push(self.stamp_ns()?);
        }
    }

    fn stamp_ns(&self) -> io::Result<i64> {
        // SAFETY: an all-zero timespec is valid.
        let mut time: libc::timespec = unsafe { zeroed() };
        // SAFETY: the kernel writes one timespec into a live one.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), SIOCGSTAMPNS, &raw mut time) })?;
        Ok(time.tv_sec * 1_000_000_000 + time.tv_nsec)
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
