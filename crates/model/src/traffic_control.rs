//! What limits an interface in the kernel, whoever has set it: queueing disciplines, their classes, filters and the
//! filters' actions (tc(8)), as values.

mod program;
mod recorded;

use std::fmt;
use std::time::Duration;

use crate::BitRate;

pub use program::{by_program, instead_of};
pub use recorded::{NoWayBack, NotRecorded, Recorded, RecordedLimit};

/// Major number of every discipline, and number of every policer, that nicety makes: `nc`.
pub const OURS: u16 = 0x6e63;
/// Priority of every filter that nicety makes: before those of all programs that leave the number to the kernel or to
/// tc(8).
pub const FIRST: u16 = 1;

/// A discipline with places for filters of both directions, which BPF programs are put into.
pub const CLSACT: &str = "clsact";

/// Nanoseconds in which the kernel's packet scheduler counts times (PSCHED_SHIFT of include/net/pkt_sched.h).
pub const TICK_NS: u64 = 64;

/// Number of a discipline or class: major and minor part, as tc(8) writes them in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u32);

impl Handle {
    /// The parent of what hangs at the interface itself (TC_H_ROOT).
    pub const ROOT: Self = Self(0xffff_ffff);
    /// The parent of a discipline for what comes in (TC_H_INGRESS).
    pub const INGRESS: Self = Self(0xffff_fff1);
    /// The number that such a discipline has.
    pub const AT_INGRESS: Self = Self(0xffff_0000);
    /// Where [`CLSACT`] has filters for what comes in (TC_H_MIN_INGRESS).
    pub const CLSACT_INGRESS: Self = Self(0xffff_fff2);
    /// The same for what goes out (TC_H_MIN_EGRESS).
    pub const CLSACT_EGRESS: Self = Self(0xffff_fff3);

    /// Of a major and a minor number.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self((major as u32) << 16 | minor as u32)
    }

    /// Major number: which discipline.
    pub const fn major(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Minor number: which of its classes; 0 for the discipline itself.
    pub const fn minor(self) -> u16 {
        self.0 as u16
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, self.minor()) {
            (Self::ROOT, _) => out.write_str("root"),
            (Self::INGRESS, _) => out.write_str("ingress"),
            (_, 0) => write!(out, "{:x}:", self.major()),
            (_, minor) => write!(out, "{:x}:{minor:x}", self.major()),
        }
    }
}

/// Everything that limits one interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrafficControl {
    /// Disciplines; the kernel's own choices are not among them.
    pub qdiscs: Vec<Qdisc>,
    /// Classes of these.
    pub classes: Vec<Class>,
    /// Filters, in the kernel's order.
    pub filters: Vec<Filter>,
}

impl TrafficControl {
    /// Interfaces that its filters send frames to.
    pub fn redirects(&self) -> impl Iterator<Item = u32> {
        let actions = self.filters.iter().flat_map(|filter| &filter.actions);
        actions.filter_map(|action| match action {
            Action::Redirect(to) => Some(*to),
            Action::Police(_) | Action::Other(_) => None,
        })
    }
}

/// A queueing discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qdisc {
    /// Its kind: `tbf`, `htb`, `ingress`, …
    pub kind: String,
    /// Its number.
    pub handle: Handle,
    /// What it hangs at.
    pub parent: Handle,
    /// What it does, where that is a limit.
    pub limit: Option<QdiscLimit>,
    /// The kernel's message about it, behind the netlink header: what puts it back.
    pub raw: Vec<u8>,
}

/// How a discipline limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QdiscLimit {
    /// A token bucket (`tbf`).
    Bucket(Bucket),
    /// By its classes (`htb`): minor number of the class that gets what no filter takes; 0 for none, which is not
    /// limited at all.
    Classes {
        /// That number.
        default: u32,
    },
}

/// A rate and what may exceed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Rate.
    pub rate: BitRate,
    /// Bytes that may pass at once.
    pub burst_bytes: u64,
}

/// A class of a discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its kind, which is its discipline's.
    pub kind: String,
    /// Its number.
    pub handle: Handle,
    /// The discipline or class above it.
    pub parent: Handle,
    /// What it is sure of; none where it is not of `htb`.
    pub rate: Option<Bucket>,
    /// What it gets at most.
    pub ceil: Option<Bucket>,
    /// As for a discipline.
    pub raw: Vec<u8>,
}

/// A filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Its kind: `u32`, `basic`, `matchall`, `fw`, `flower`, …
    pub kind: String,
    /// Its number among those of its priority.
    pub handle: u32,
    /// The discipline that it belongs to.
    pub parent: Handle,
    /// Its priority: lower numbers are asked first.
    pub priority: u16,
    /// The protocol that it looks at (ETH_P_*), in host order; 3 for all.
    pub protocol: u16,
    /// It takes every frame of its protocol.
    pub takes_all: bool,
    /// What it does.
    pub actions: Vec<Action>,
    /// The name under which a BPF program was put there (`TCA_BPF_NAME`); none of other kinds.
    pub program: Option<String>,
    /// As for a discipline.
    pub raw: Vec<u8>,
}

impl Filter {
    /// Whether every frame comes to it, unless an earlier filter has taken it.
    pub fn is_for_every_frame(&self) -> bool {
        const ETH_P_ALL: u16 = 3;
        self.takes_all && self.protocol == ETH_P_ALL
    }
}

/// What a filter does with a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It lets a rate pass (`police`).
    Police(Police),
    /// It sends frames out of another interface (`mirred`): its number.
    Redirect(u32),
    /// Anything else: the action's kind.
    Other(String),
}

/// A policer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Police {
    /// Rate; none where it counts packets only.
    pub rate: Option<Bucket>,
    /// Packets a second, and how many at once (Linux 5.12).
    pub packets: Option<(u64, u64)>,
    /// Longest frame that may pass, in bytes.
    pub longest: u32,
    /// What is above goes, and nothing else.
    pub drops: bool,
}

/// Bytes that come in `ticks` of [`TICK_NS`] at a rate: how the kernel keeps the depth of a bucket.
pub fn burst_bytes(rate: BitRate, ticks: u32) -> u64 {
    rate.bytes_in(Duration::from_nanos(u64::from(ticks) * TICK_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_tc_writes_them() {
        let texts = [
            Handle::ROOT,
            Handle::INGRESS,
            Handle::AT_INGRESS,
            Handle::new(1, 0xfffe),
        ];
        assert_eq!(
            texts.map(|handle| handle.to_string()),
            ["root", "ingress", "ffff:", "1:fffe"]
        );
        assert_eq!((Handle(0x1_0002).major(), Handle(0x1_0002).minor()), (1, 2));
    }

    #[test]
    fn a_bucket_holds_what_comes_in_its_ticks() {
        // 64 KiB at 8 Mbit/s take 65,536 µs.
        assert_eq!(burst_bytes(BitRate::from_mbit(8), 1_024_000), 65_536);
        assert_eq!(burst_bytes(BitRate(0), 5), 0);
    }
}
