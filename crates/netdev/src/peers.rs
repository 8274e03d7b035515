//! Which network namespace the other end of a veth is in.
//!
//! The kernel numbers other namespaces as one sees them (`IFLA_LINK_NETNSID`), and says which number the
//! namespace of a process has (`RTM_GETNSID`, rtnetlink(7)).

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use libc::{IFLA_LINK_NETNSID, RTM_GETLINK, RTM_GETNSID, RTM_NEWNSID};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::{Attributes, LINK_HEADER, RawMessage, u32_at};

/// Attributes of `RTM_GETNSID` (include/uapi/linux/net_namespace.h).
const NETNSA_NSID: u16 = 1;
const NETNSA_PID: u16 = 2;
const NETNSA_FD: u16 = 3;
/// Bytes of struct rtgenmsg, aligned.
const GENERAL_HEADER: usize = 4;

/// Number of a namespace as another one sees it.
pub type NsId = u32;

/// Interfaces with an end elsewhere, and the numbers of namespaces.
#[derive(Debug)]
pub struct Peers {
    channel: Channel,
    ns: NetNs,
}

impl Peers {
    /// Of interfaces in `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_ROUTE)?,
            ns: ns.clone(),
        })
    }

    /// Numbers of the namespaces where the other ends of interfaces are, by the interfaces' own number; those with
    /// both ends here are left out.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn elsewhere(&self) -> Result<BTreeMap<u32, NsId>, NetError> {
        let all = RawMessage::new(RTM_GETLINK, &[0; LINK_HEADER]);
        self.channel
            .dump(all, BTreeMap::new, |found, part| {
                found.extend(other(part.body))
            })
            .map_err(|e| NetError::new("list interfaces of namespace", &self.ns, e))
    }

    /// Number of the network namespace of a process; `None` where it has none yet, or the process is gone.
    pub fn of_process(&self, pid: u32) -> Option<NsId> {
        self.ask(NETNSA_PID, pid)
    }

    /// Inodes and numbers of the namespaces that have a file in a directory.
    pub fn of_named(&self, directory: &Path) -> Vec<(u64, NsId)> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let number = |entry: std::fs::DirEntry| {
            let file = std::fs::File::open(entry.path()).ok()?;
            let inode = file.metadata().ok()?.ino();
            let fd = u32::try_from(file.as_raw_fd()).ok()?;
            Some((inode, self.ask(NETNSA_FD, fd)?))
        };
        entries.filter_map(number).collect()
    }

    fn ask(&self, kind: u16, value: u32) -> Option<NsId> {
        let mut message = RawMessage::new(RTM_GETNSID, &[0; GENERAL_HEADER]);
        message.put(kind, &value.to_ne_bytes());
        let answers = self.channel.query(message, 0).ok()?;
        answers
            .iter()
            .find_map(|answer| number(answer.kind, &answer.body))
    }
}

/// Number of an interface and of the namespace of its other end.
fn other(body: &[u8]) -> Option<(u32, NsId)> {
    let index = u32_at(body, 4)?;
    let attributes = Attributes::of(body.get(LINK_HEADER..)?);
    Some((index, known(attributes.find(IFLA_LINK_NETNSID)?)?))
}

fn number(kind: u16, body: &[u8]) -> Option<NsId> {
    let attributes = Attributes::of(body.get(GENERAL_HEADER..)?);
    let value = (kind == RTM_NEWNSID).then(|| attributes.find(NETNSA_NSID))?;
    known(value?)
}

/// One that has no number has -1.
fn known(value: &[u8]) -> Option<NsId> {
    u32_at(value, 0).filter(|number| i32::try_from(*number).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_numbers_or_nothing() {
        let mut link = RawMessage::new(16, &[0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(other(&link.body), None);
        link.put(IFLA_LINK_NETNSID, &3_u32.to_ne_bytes());
        assert_eq!(
            other(&link.body),
            Some((u32::from_ne_bytes([7, 0, 0, 0]), 3))
        );
        let answer = |value: i32| {
            let mut message = RawMessage::new(RTM_NEWNSID, &[0; GENERAL_HEADER]);
            message.put(NETNSA_NSID, &value.to_ne_bytes());
            message.body
        };
        assert_eq!(number(RTM_NEWNSID, &answer(2)), Some(2));
        assert_eq!(number(RTM_NEWNSID, &answer(-1)), None);
        assert_eq!(number(RTM_GETNSID, &answer(2)), None);
        assert_eq!(number(RTM_NEWNSID, &[]), None);
    }
}
