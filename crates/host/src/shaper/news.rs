//! Whether somebody has changed interfaces, qdiscs or filters: the kernel tells (rtnetlink(7)), so
//! that nobody has to look at hundreds of filters again and again.

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::raw::{u16_at, u32_at};

const RTNLGRP_LINK: u32 = 1;
const RTNLGRP_TC: u32 = 4;
/// What is told when a limit gets another rate: nothing that [`super::Shapers::survey_again`] does
/// not see.
const RTM_NEWQDISC: u16 = 36;
/// Room for what comes between two looks.
const ROOM: usize = 1 << 20;

/// A socket that the kernel writes changes to.
#[derive(Debug)]
pub struct News {
    socket: Socket,
    buffer: Vec<u8>,
}

impl News {
    /// Of one namespace, from now on.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        let socket = ns
            .run(|| {
                let mut socket = Socket::new(NETLINK_ROUTE)?;
                socket.bind(&SocketAddr::new(0, 0))?;
                socket.add_membership(RTNLGRP_LINK)?;
                socket.add_membership(RTNLGRP_TC)?;
                Ok(socket)
            })?
            .map_err(|e: std::io::Error| NetError::new("listen for changes in", ns, e))?;
        // Less room than asked for means that more changes count as unknown ones.
        let _ = socket.set_rx_buf_sz(ROOM as libc::c_int);
        Ok(Self {
            socket,
            buffer: vec![0; 64 << 10],
        })
    }

    /// Whether anything but the rate of a limit has changed since the last time; true also when more
    /// came than there was room for.
    pub fn any(&mut self) -> bool {
        let mut changed = false;
        loop {
            let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
            match rustix::net::recv(&self.socket, &mut self.buffer[..], flags) {
                Ok((length, _)) => changed |= tells(&self.buffer[..length]),
                Err(Errno::AGAIN) => return changed,
                Err(Errno::INTR) => {}
                // ENOBUFS: something was left out.
                Err(Errno::NOBUFS) => changed = true,
                Err(_) => return true,
            }
        }
    }
}

/// Whether a datagram holds a message of another type.
fn tells(mut datagram: &[u8]) -> bool {
    while let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) {
        if kind != RTM_NEWQDISC {
            return true;
        }
        let next = (length as usize).next_multiple_of(4).max(16);
        datagram = datagram.get(next..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_rate_is_no_news() {
        let message = |kind: u16| {
            let mut bytes = 20u32.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.resize(20, 0);
            bytes
        };
        assert!(!tells(&[]));
        assert!(!tells(&message(RTM_NEWQDISC)));
        assert!(tells(&[message(RTM_NEWQDISC), message(37)].concat()));
        assert!(tells(&message(16)));
    }
}
