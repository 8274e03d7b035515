//! Interfaces that come, go or get another name: the kernel tells (rtnetlink(7)).

use std::collections::BTreeMap;
use std::time::Duration;

use libc::{IFLA_IFNAME, RTM_DELLINK, RTM_NEWLINK, RTNLGRP_LINK};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::raw::{u16_at, u32_at};

/// Bytes of the headers of a message (struct nlmsghdr) and of what follows it (struct ifinfomsg).
const HEADER: usize = 16;
const INFO: usize = 16;

/// A socket that the kernel writes changes of interfaces to.
#[derive(Debug)]
pub struct LinkNews {
    socket: Socket,
    buffer: Vec<u8>,
    /// Names by number, as far as they were told.
    known: BTreeMap<u32, Vec<u8>>,
}

impl LinkNews {
    /// Of one namespace, from now on.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn listen(ns: &NetNs) -> Result<Self, NetError> {
        let socket = ns
            .run(|| {
                let mut socket = Socket::new(NETLINK_ROUTE)?;
                socket.bind(&SocketAddr::new(0, 0))?;
                socket.add_membership(RTNLGRP_LINK)?;
                Ok(socket)
            })?
            .map_err(|e: std::io::Error| NetError::new("listen for interfaces in", ns, e))?;
        Ok(Self {
            socket,
            buffer: vec![0; 64 << 10],
            known: BTreeMap::new(),
        })
    }

    /// Waits for news, but not longer than so long. True when an interface has come, gone or got another name, or
    /// may have.
    pub fn wait(&mut self, longest: Duration) -> bool {
        let longest = Timespec::try_from(longest).ok();
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        if !poll(&mut fds, longest.as_ref()).is_ok_and(|ready| ready > 0) {
            return false;
        }
        let mut news = false;
        loop {
            match rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => news |= add(&mut self.known, &self.buffer[..length]),
                Err(Errno::INTR) => {}
                // ENOBUFS: something was left out.
                Err(Errno::NOBUFS) => news = true,
                Err(_) => return news,
            }
        }
    }
}

/// What the messages of a datagram tell.
fn add(known: &mut BTreeMap<u32, Vec<u8>>, mut datagram: &[u8]) -> bool {
    let mut news = false;
    while let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) {
        let length = (length as usize).max(HEADER);
        let message = datagram.get(..length).unwrap_or_default();
        let index = u32_at(message, HEADER + 4);
        match (kind, index) {
            (RTM_NEWLINK, Some(index)) => {
                let name = name(message.get(HEADER + INFO..).unwrap_or_default());
                news |= known.insert(index, name.clone()) != Some(name);
            }
            (RTM_DELLINK, Some(index)) => {
                known.remove(&index);
                news = true;
            }
            _ => {}
        }
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    news
}

/// The name among the attributes of a message; empty where there is none.
fn name(mut attributes: &[u8]) -> Vec<u8> {
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let length = usize::from(length).max(4);
        if kind == IFLA_IFNAME {
            return attributes.get(4..length).unwrap_or_default().to_vec();
        }
        attributes = attributes
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, index: u32, name: &str) -> Vec<u8> {
        let mut attribute = (4 + name.len() as u16 + 1).to_ne_bytes().to_vec();
        attribute.extend(IFLA_IFNAME.to_ne_bytes());
        attribute.extend(name.as_bytes());
        attribute.resize((attribute.len() + 1).next_multiple_of(4), 0);
        let length = (HEADER + INFO + attribute.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER + 4, 0);
        bytes.extend(index.to_ne_bytes());
        bytes.resize(HEADER + INFO, 0);
        bytes.extend(attribute);
        bytes
    }

    #[test]
    fn only_interfaces_that_come_go_or_are_renamed_are_news() {
        let mut known = BTreeMap::new();
        for (kind, index, name, news) in [
            (RTM_NEWLINK, 7, "vnet0", true),
            // Its carrier has changed.
            (RTM_NEWLINK, 7, "vnet0", false),
            (RTM_NEWLINK, 7, "vnet1", true),
            (RTM_NEWLINK, 8, "vnet0", true),
            (RTM_DELLINK, 7, "vnet1", true),
            (RTM_NEWLINK, 7, "vnet1", true),
            (99, 9, "vnet9", false),
        ] {
            let bytes = message(kind, index, name);
            assert_eq!(add(&mut known, &bytes), news, "{kind} {index} {name}");
        }
        let two = [
            message(RTM_NEWLINK, 7, "vnet1"),
            message(RTM_DELLINK, 8, ""),
        ]
        .concat();
        assert!(add(&mut known, &two));
        // Any bytes end.
        for length in 0..two.len() {
            for value in [0, 1, 255] {
                let mut bytes = two[..length].to_vec();
                bytes.iter_mut().take(6).for_each(|byte| *byte = value);
                let _ = add(&mut known, &bytes);
                let _ = add(&mut known, &two[..length]);
            }
        }
    }
}
