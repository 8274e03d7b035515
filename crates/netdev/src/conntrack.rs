//! The kernel's table of connections in a network namespace (include/uapi/linux/netfilter/nfnetlink_conntrack.h).

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_NETFILTER;

use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::{Attributes, RawMessage};

const NFNL_SUBSYS_CTNETLINK: u16 = 1;
const IPCTNL_MSG_CT_GET: u16 = 1;
const IPCTNL_MSG_CT_DELETE: u16 = 2;
const IPCTNL_MSG_CT_GET_STATS_CPU: u16 = 4;
const IPCTNL_MSG_CT_GET_STATS: u16 = 5;

const CTA_STATS_GLOBAL_ENTRIES: u16 = 1;
const CTA_STATS_GLOBAL_MAX_ENTRIES: u16 = 2;

const CTA_STATS_INVALID: u16 = 4;
const CTA_STATS_INSERT_FAILED: u16 = 9;
const CTA_STATS_DROP: u16 = 10;
const CTA_STATS_EARLY_DROP: u16 = 11;
const CTA_STATS_CLASH_RESOLVE: u16 = 14;
const CTA_STATS_CHAIN_TOOLONG: u16 = 15;

/// Bytes of `struct nfgenmsg`.
const NFGENMSG: usize = 4;

/// What the kernel counts at the table since the namespace was made, over all CPUs; each count is of 32 bits, and goes
/// round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableStats {
    /// Packets that belong to no connection and open none.
    pub invalid: u32,
    /// Entries that found their place taken: another one had the same addresses and ports.
    pub insert_failed: u32,
    /// Packets that were dropped because an entry for them could not be made or put in.
    pub drop: u32,
    /// Entries without an answer that were thrown out of a full table for new ones.
    pub early_drop: u32,
    /// Entries that two packets made at once, and that were told apart.
    pub clash_resolve: u32,
    /// Entries that were not put in because their hash chain was too long; 0 before Linux 5.16.
    pub chain_too_long: u32,
}

impl TableStats {
    /// What came since an earlier look.
    pub fn since(self, before: Self) -> Self {
        Self {
            invalid: self.invalid.wrapping_sub(before.invalid),
            insert_failed: self.insert_failed.wrapping_sub(before.insert_failed),
            drop: self.drop.wrapping_sub(before.drop),
            early_drop: self.early_drop.wrapping_sub(before.early_drop),
            clash_resolve: self.clash_resolve.wrapping_sub(before.clash_resolve),
            chain_too_long: self.chain_too_long.wrapping_sub(before.chain_too_long),
        }
    }

    fn add(&mut self, of: Attributes<'_>) {
        let count = |kind| be32(of.find(kind)).unwrap_or(0);
        self.invalid = self.invalid.wrapping_add(count(CTA_STATS_INVALID));
        self.insert_failed = self
            .insert_failed
            .wrapping_add(count(CTA_STATS_INSERT_FAILED));
        self.drop = self.drop.wrapping_add(count(CTA_STATS_DROP));
        self.early_drop = self.early_drop.wrapping_add(count(CTA_STATS_EARLY_DROP));
        self.clash_resolve = self
            .clash_resolve
            .wrapping_add(count(CTA_STATS_CLASH_RESOLVE));
        self.chain_too_long = self
            .chain_too_long
            .wrapping_add(count(CTA_STATS_CHAIN_TOOLONG));
    }
}

/// The table of one namespace.
#[derive(Debug)]
pub struct Conntrack {
    channel: Channel,
    ns: NetNs,
}

impl Conntrack {
    /// That of `ns`.
    ///
    /// # Errors
    /// [`NetError::Unsupported`] for a kernel without nfnetlink.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_NETFILTER)?,
            ns: ns.clone(),
        })
    }

    /// Entries there are, as `conntrack -C` says, and the most there may be where the kernel tells (Linux 5.13).
    ///
    /// # Errors
    /// [`NetError::Unsupported`] for a kernel without ctnetlink.
    pub fn entries(&self) -> Result<(u64, Option<u64>), NetError> {
        let what = "count connections of";
        let answers = self.channel.query(message(IPCTNL_MSG_CT_GET_STATS), 0);
        let answers: Vec<RawMessage> = answers.map_err(|error| self.error(what, error))?;
        let attributes = answers.first().map(|answer| answer.attributes(NFGENMSG));
        let count = |kind| {
            let value = attributes.and_then(|attributes| attributes.find(kind));
            be32(value).map(u64::from)
        };
        let entries = count(CTA_STATS_GLOBAL_ENTRIES);
        let entries = entries.ok_or_else(|| NetError::bad_reply(what, &self.ns, "no count"))?;
        Ok((entries, count(CTA_STATS_GLOBAL_MAX_ENTRIES)))
    }

    /// Counts the entries one by one.
    ///
    /// # Errors
    /// As [`Self::entries`].
    pub fn dumped(&self) -> Result<u64, NetError> {
        let entry = NFNL_SUBSYS_CTNETLINK << 8;
        let count = self.channel.dump(
            message(IPCTNL_MSG_CT_GET),
            || 0,
            |count: &mut u64, part| *count += u64::from(part.kind == entry),
        );
        count.map_err(|error| self.error("list connections of", error))
    }

    /// What the kernel counts at it.
    ///
    /// # Errors
    /// As [`Self::entries`].
    pub fn stats(&self) -> Result<TableStats, NetError> {
        let answers = self
            .channel
            .query(message(IPCTNL_MSG_CT_GET_STATS_CPU), NLM_F_DUMP);
        let answers = answers.map_err(|error| self.error("read counters of", error))?;
        let mut stats = TableStats::default();
        for answer in &answers {
            stats.add(answer.attributes(NFGENMSG));
        }
        Ok(stats)
    }

    /// Removes every entry, as `conntrack -F` does. When it returns they are gone.
    ///
    /// # Errors
    /// As [`Self::entries`].
    pub fn flush(&self) -> Result<(), NetError> {
        let done = self.channel.change(message(IPCTNL_MSG_CT_DELETE), 0);
        done.map_err(|error| self.error("remove connections of", error))
    }

    fn error(&self, operation: &'static str, error: std::io::Error) -> NetError {
        match error.raw_os_error() {
            // nfnetlink says so where it has no such subsystem (net/netfilter/nfnetlink.c).
            Some(libc::EINVAL) => NetError::new(
                operation,
                format!("namespace {}", self.ns),
                std::io::Error::from_raw_os_error(libc::EOPNOTSUPP),
            ),
            _ => NetError::new(operation, format!("namespace {}", self.ns), error),
        }
    }
}

/// A request about connections of any family.
fn message(kind: u16) -> RawMessage {
    RawMessage::new(NFNL_SUBSYS_CTNETLINK << 8 | kind, &[0; NFGENMSG])
}

/// Attributes of nfnetlink are in network order.
fn be32(value: Option<&[u8]>) -> Option<u32> {
    Some(u32::from_be_bytes(value?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_cpus_are_added_and_go_round() {
        let cpu = |drop: u32, early: u32| {
            let mut message = message(IPCTNL_MSG_CT_GET_STATS_CPU);
            message.put(CTA_STATS_DROP, &drop.to_be_bytes());
            message.put(CTA_STATS_EARLY_DROP, &early.to_be_bytes());
            message
        };
        let mut stats = TableStats::default();
        for one in [cpu(u32::MAX, 5), cpu(3, 7)] {
            stats.add(one.attributes(NFGENMSG));
        }
        assert_eq!((stats.drop, stats.early_drop), (2, 12));
        let before = TableStats {
            drop: u32::MAX,
            early_drop: 2,
            ..TableStats::default()
        };
        let since = stats.since(before);
        assert_eq!((since.drop, since.early_drop, since.invalid), (3, 10, 0));
    }

    #[test]
    fn requests_are_as_the_kernel_reads_them() {
        let message = message(IPCTNL_MSG_CT_DELETE);
        assert_eq!((message.kind, message.body.len()), (0x102, 4));
        assert_eq!(be32(Some(&[0, 0, 1, 2])), Some(258));
        assert_eq!(be32(Some(&[1])), None);
    }
}
