//! A packet socket whose frames the NIC stamps (SO_TIMESTAMPING,
//! Documentation/networking/timestamping.rst).
#![allow(unsafe_code)] // edge: recvmsg(2) with control messages

use std::mem::{size_of, zeroed};
use std::time::Duration;

use nicety_packet::ptp::{PROBE_BYTES, Probe, TYPE_PTP};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SendFlags;

use super::ProbePort;
use crate::af_packet::socket::Socket;
use crate::error::PortError;
use crate::sockopt;

// include/uapi/linux/net_tstamp.h
const TX_HARDWARE: libc::c_int = 1;
const RX_HARDWARE: libc::c_int = 1 << 2;
const RAW_HARDWARE: libc::c_int = 1 << 6;
/// Bytes of a frame that are looked at.
const HEAD: usize = 128;
/// Room for control messages.
const CONTROL: usize = 256;

/// Sends and receives probes at one port.
#[derive(Debug)]
pub(super) struct ProbeSocket(Socket);

/// A probe with the NIC's stamp, in ns of its clock.
pub(super) type Stamped = (Probe, Option<i64>);

impl ProbeSocket {
    pub(super) fn open(port: &ProbePort) -> Result<Self, super::ProbeError> {
        let open = || -> Result<Socket, PortError> {
            let socket = Socket::open(&port.interface)?;
            let flags = TX_HARDWARE | RX_HARDWARE | RAW_HARDWARE;
            sockopt::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
                .map_err(|e| PortError::system(&port.interface, "have frames stamped", e))?;
            socket.ignore_outgoing()?;
            socket.bind(libc::c_int::from(TYPE_PTP))?;
            Ok(socket)
        };
        Ok(Self(port.ns.run(open)??))
    }

    /// Sends one; false when the driver had no room.
    pub(super) fn send(&self, frame: &[u8; PROBE_BYTES]) -> bool {
        rustix::net::send(&self.0, frame, SendFlags::DONTWAIT) == Ok(frame.len())
    }

    /// The next probe that arrived, if there is one.
    pub(super) fn arrived(&self) -> Option<Stamped> {
        self.receive(0)
    }

    /// The next of the probes sent that the NIC has stamped, if there is one.
    pub(super) fn left(&self) -> Option<Stamped> {
        self.receive(libc::MSG_ERRQUEUE)
    }

    /// Frames that are no probes are passed over.
    fn receive(&self, flags: libc::c_int) -> Option<Stamped> {
        loop {
            let (frame, length, stamp) = self.message(flags)?;
            if let Some(probe) = Probe::of(frame.get(..length)?) {
                return Some((probe, stamp));
            }
        }
    }

    fn message(&self, flags: libc::c_int) -> Option<([u8; HEAD], usize, Option<i64>)> {
        let mut frame = [0_u8; HEAD];
        // Aligned as control messages are.
        let mut control = [0_u64; CONTROL / 8];
        let mut part = libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: HEAD,
        };
        // SAFETY: an all-zero msghdr is valid.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = CONTROL as _;
        // SAFETY: every buffer lives for the call and is as long as the message says.
        let got =
            unsafe { libc::recvmsg(self.0.raw(), &raw mut message, flags | libc::MSG_DONTWAIT) };
        let length = usize::try_from(got).ok()?.min(HEAD);
        Some((frame, length, stamp(&message)))
    }

    /// Waits until something may have come, at either socket.
    pub(super) fn wait(both: [&Self; 2], limit: Duration) {
        // POLLERR, which says that a stamp waits, is told unasked.
        let mut polled = both.map(|s| PollFd::new(&s.0, PollFlags::IN));
        let limit = Timespec::try_from(limit).ok();
        // Woken early by a signal the caller looks and waits again.
        let _ = poll(&mut polled, limit.as_ref());
    }
}

/// The NIC's stamp among the control messages: the third of struct scm_timestamping.
fn stamp(message: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel has filled the control buffer of `message`, whose owner still holds it; the
    // macros stay within its length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: not null, so a whole header within the buffer.
        let one = unsafe { &*header };
        let room = (one.cmsg_len as usize)
            >= size_of::<libc::cmsghdr>() + size_of::<[libc::timespec; 3]>();
        if one.cmsg_level == libc::SOL_SOCKET && one.cmsg_type == libc::SO_TIMESTAMPING && room {
            // SAFETY: the message holds three of them, by its length; it may be aligned to less.
            let times: [libc::timespec; 3] = unsafe {
                libc::CMSG_DATA(header)
                    .cast::<[libc::timespec; 3]>()
                    .read_unaligned()
            };
            let [.., raw] = times;
            let ns = raw
                .tv_sec
                .saturating_mul(1_000_000_000)
                .saturating_add(raw.tv_nsec);
            return Some(ns).filter(|ns| *ns != 0);
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}
