//! Whether somebody has changed interfaces, qdiscs or filters: the kernel tells (rtnetlink(7)), so
//! that nobody has to look at hundreds of filters again and again.

use std::collections::BTreeSet;

use libc::{RTM_DELTFILTER, RTM_NEWQDISC, RTNLGRP_LINK, RTNLGRP_TC};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::raw::{u16_at, u32_at};

/// Room for what comes between two looks.
const ROOM: usize = 1 << 20;

/// A socket that the kernel writes changes to.
#[derive(Debug)]
pub struct ChangeListener {
    socket: Socket,
    buffer: Vec<u8>,
    /// The number of those who set limits here: nobody has to be told of these.
    own: u32,
    /// Interfaces of which every change must be known at once.
    watched: BTreeSet<u32>,
}

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Qdiscs were made or have got other settings, not by us.
    pub qdiscs: bool,
    /// Anything else has changed, or may have.
    pub other: bool,
    /// Somebody else has changed what limits a watched interface, or may have.
    pub watched: bool,
}

impl Changes {
    /// These and others.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            qdiscs: self.qdiscs || other.qdiscs,
            other: self.other || other.other,
            watched: self.watched || other.watched,
        }
    }

    /// Anything has changed.
    pub fn any(self) -> bool {
        self.qdiscs || self.other
    }
}

impl ChangeListener {
    /// Of one namespace, from now on. `own` is the number of the socket that limits are set by.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub(super) fn open(ns: &NetNs, own: u32) -> Result<Self, NetError> {
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
            own,
            watched: BTreeSet::new(),
        })
    }

    /// Watches these interfaces from now on.
    pub fn watch(&mut self, interfaces: BTreeSet<u32>) {
        self.watched = interfaces;
    }

    /// What has changed since the last time; everything may have when more came than there was room
    /// for.
    pub fn changes(&mut self) -> Changes {
        let mut changed = Changes::default();
        loop {
            let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
            match rustix::net::recv(&self.socket, &mut self.buffer[..], flags) {
                Ok((length, _)) => {
                    let by = (self.own, &self.watched);
                    add_changes(&self.buffer[..length], by, &mut changed);
                }
                Err(Errno::AGAIN) => return changed,
                Err(Errno::INTR) => {}
                // ENOBUFS: something was left out.
                Err(Errno::NOBUFS) => (changed.other, changed.watched) = (true, true),
                Err(_) => {
                    (changed.other, changed.watched) = (true, true);
                    return changed;
                }
            }
        }
    }
}

/// What the messages of a datagram tell: length, type, and who has asked for the change
/// (struct nlmsghdr); of qdiscs, classes and filters the interface, too (struct tcmsg).
fn add_changes(mut datagram: &[u8], (own, watched): (u32, &BTreeSet<u32>), changed: &mut Changes) {
    const INTERFACE: usize = 20;
    while let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) {
        let others = u32_at(datagram, 12) != Some(own);
        if others && (RTM_NEWQDISC..=RTM_DELTFILTER).contains(&kind) {
            let interface = u32_at(datagram, INTERFACE);
            changed.watched |= interface.is_some_and(|index| watched.contains(&index));
        }
        match kind {
            // Reported when a limit gets another rate.
            RTM_NEWQDISC => changed.qdiscs |= others,
            _ => changed.other = true,
        }
        let next = (length as usize).next_multiple_of(4).max(16);
        datagram = datagram.get(next..).unwrap_or_default();
    }
}

/// Reads a datagram of any bytes.
pub(super) fn hostile(bytes: &[u8]) {
    add_changes(bytes, (7, &BTreeSet::from([3])), &mut Changes::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_rate_of_ours_is_no_change() {
        let message = |kind: u16, by: u32| {
            let mut bytes = 20u32.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.resize(12, 0);
            bytes.extend_from_slice(&by.to_ne_bytes());
            bytes.resize(20, 0);
            bytes
        };
        let nobody = BTreeSet::new();
        let told = |messages: &[Vec<u8>]| {
            let mut changed = Changes::default();
            add_changes(&messages.concat(), (7, &nobody), &mut changed);
            (changed.qdiscs, changed.other)
        };
        assert_eq!(told(&[]), (false, false));
        assert_eq!(told(&[message(RTM_NEWQDISC, 7)]), (false, false));
        // Of somebody else, and of the kernel.
        for other in [8, 0] {
            let both = [message(RTM_NEWQDISC, 7), message(RTM_NEWQDISC, other)];
            assert_eq!(told(&both), (true, false));
        }
        let removed = [message(RTM_NEWQDISC, 7), message(37, 7)];
        assert_eq!(told(&removed), (false, true));
        assert_eq!(told(&[message(16, 0)]), (false, true));
    }

    #[test]
    fn changes_at_watched_interfaces_are_told_apart() {
        let message = |kind: u16, by: u32, interface: u32| {
            let mut bytes = 36u32.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.resize(12, 0);
            bytes.extend_from_slice(&by.to_ne_bytes());
            bytes.resize(20, 0);
            bytes.extend_from_slice(&interface.to_ne_bytes());
            bytes.resize(36, 0);
            bytes
        };
        let watched = BTreeSet::from([4]);
        let told = |message: &[u8]| {
            let mut changed = Changes::default();
            add_changes(message, (7, &watched), &mut changed);
            changed.watched
        };
        assert!(told(&message(RTM_DELTFILTER, 8, 4)));
        assert!(told(&message(RTM_NEWQDISC, 8, 4)));
        // Ours, of another interface, and of no limit.
        assert!(!told(&message(RTM_DELTFILTER, 7, 4)));
        assert!(!told(&message(RTM_DELTFILTER, 8, 5)));
        assert!(!told(&message(16, 8, 4)));
        assert!(!told(&message(RTM_DELTFILTER, 8, 4)[..20]));
    }
}
