//! Counters along a path, and the loss ledger made of two readings.

use nicety_host::stat::StatSample;
use nicety_model::LossEntry;
use nicety_model::facts::QdiscFacts;
use nicety_netdev::link::{Link, LinkCounters};
use nicety_netdev::qdisc;

/// Place name of the line that holds what no counter accounts for.
pub const UNEXPLAINED: &str = "unexplained";

/// Counters of one interface of a path at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceCounters {
    /// Interface: `a`, `d0`, `br0`, ...
    pub interface: String,
    /// Part it plays.
    pub role: Role,
    /// Its counters.
    pub counters: LinkCounters,
    /// Its queueing disciplines; none for a port, which the tester's frames leave past them.
    pub qdiscs: Vec<QdiscFacts>,
}

/// Part an interface plays on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The tester attaches here: every frame it receives has left the path.
    Port,
    /// Inside the path.
    Inner,
    /// The bridge itself: its counters are about frames from and to the host, of forwarded
    /// frames it only ever sees copies.
    Bridge,
}

/// A thread of the path that never sleeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polling {
    /// The name its time is booked under.
    pub who: String,
    /// What it has counted; absent where its program does not.
    pub cycles: Option<Cycles>,
}

/// CPU cycles of a thread that polls, since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycles {
    /// With frames to carry.
    pub busy: u64,
    /// In rounds that found none.
    pub idle: u64,
}

/// All counters of a path at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathCounters {
    /// Those of its interfaces, in the order frames from A to B meet them.
    pub interfaces: Vec<InterfaceCounters>,
    /// Its threads that poll.
    pub polling: Vec<Polling>,
    /// CPU time of its guests by their own count.
    pub guests: Vec<(String, StatSample)>,
    /// Its interfaces that carry an XDP program, the tester's ports not among them.
    pub programs: Vec<String>,
}

impl From<Vec<InterfaceCounters>> for PathCounters {
    fn from(interfaces: Vec<InterfaceCounters>) -> Self {
        Self {
            interfaces,
            ..Self::default()
        }
    }
}

impl InterfaceCounters {
    /// Of a port of the tester's.
    pub fn port(interface: impl Into<String>, counters: LinkCounters) -> Self {
        Self::plain(interface, Role::Port, counters)
    }

    /// Of a place inside the path without queueing disciplines of the kernel's.
    pub fn inner(interface: impl Into<String>, counters: LinkCounters) -> Self {
        Self::plain(interface, Role::Inner, counters)
    }

    /// Of an interface of a namespace, with those of its queueing disciplines among `qdiscs`, which are all of that
    /// namespace.
    pub(crate) fn of_link(link: &Link, role: Role, qdiscs: &[(u32, QdiscFacts)]) -> Self {
        Self {
            qdiscs: qdisc::at(link, qdiscs),
            ..Self::plain(&link.name, role, link.counters)
        }
    }

    fn plain(interface: impl Into<String>, role: Role, counters: LinkCounters) -> Self {
        Self {
            interface: interface.into(),
            role,
            counters,
            qdiscs: Vec::new(),
        }
    }
}

impl PathCounters {
    /// Every counter, named `interface counter`.
    pub fn named(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.interfaces.iter().flat_map(|place| {
            place
                .counters
                .named()
                .map(|(name, value)| (format!("{} {name}", place.interface), value))
        })
    }

    /// Counters of one interface.
    pub fn of(&self, interface: &str) -> Option<&LinkCounters> {
        self.place(interface).map(|place| &place.counters)
    }

    fn place(&self, interface: &str) -> Option<&InterfaceCounters> {
        self.interfaces
            .iter()
            .find(|place| place.interface == interface)
    }
}

/// Lines of the loss ledger: counters of lost frames that moved between two readings, then
/// [`UNEXPLAINED`] for what is left of `lost` frames.
///
/// Counters that went back (the interface was made anew) give no line. The lines may add up to
/// more than `lost`: counters see foreign frames too.
pub fn ledger(before: &PathCounters, after: &PathCounters, lost: u64) -> Vec<LossEntry> {
    let mut lines = Vec::new();
    for place in &after.interfaces {
        let Some(old) = before.place(&place.interface) else {
            continue;
        };
        let moved = losses(&place.counters, place.role)
            .into_iter()
            .zip(losses(&old.counters, place.role))
            .filter_map(|((name, new), (_, old))| Some((name.to_owned(), new.checked_sub(old)?)))
            .chain(queued_out(&old.qdiscs, &place.qdiscs));
        for (name, frames) in moved.filter(|(_, frames)| *frames > 0) {
            lines.push(LossEntry::counted(
                format!("{} {name}", place.interface),
                frames,
            ));
        }
    }
    let explained = lines.iter().map(|line| line.frames).sum();
    if let Some(frames) = lost.checked_sub(explained).filter(|frames| *frames > 0) {
        lines.push(LossEntry::counted(UNEXPLAINED, frames));
    }
    lines
}

/// What each queueing discipline dropped between two readings, where it is still the same one.
/// These frames are in none of the interface's own counters (net/core/dev.c, __dev_xmit_skb).
fn queued_out<'a>(
    before: &'a [QdiscFacts],
    after: &'a [QdiscFacts],
) -> impl Iterator<Item = (String, u64)> + 'a {
    // A root counts the drops of its classes too (mq_dump, htb_enqueue).
    after.iter().filter(|new| new.root).filter_map(|new| {
        let old = before.iter().find(|old| old.root && old.kind == new.kind)?;
        // The kernel's counter has 32 bits. One that was made anew counts from 0, which looks
        // like a step of more than half of them; one that wrapped moved by little.
        let frames = (new.drops? as u32).wrapping_sub(old.drops? as u32);
        (frames <= u32::MAX / 2).then(|| (format!("qdisc {}", new.kind), u64::from(frames)))
    })
}

/// The counters that each stand for frames lost once. Details of `rx_errors` and `tx_errors`
/// (length, CRC, FIFO, ...) are left out, they are counted in the sums already
/// (Documentation/networking/statistics.rst). `rx_missed_errors` is in neither sum. A port's
/// `rx_nohandler` and `rx_otherhost_dropped` count frames after the tester's socket had its
/// copy, so they are no loss there; inside the path `rx_nohandler` is.
fn losses(counters: &LinkCounters, role: Role) -> Vec<(&'static str, u64)> {
    if role == Role::Bridge {
        return Vec::new();
    }
    let mut losses = vec![
        ("tx_dropped", counters.tx_dropped),
        ("tx_errors", counters.tx_errors),
        ("rx_errors", counters.rx_errors),
        ("rx_dropped", counters.rx_dropped),
        ("rx_missed_errors", counters.rx_missed_errors),
    ];
    if role == Role::Inner {
        losses.push(("rx_nohandler", counters.rx_nohandler));
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(interface: &str, role: Role, counters: LinkCounters) -> InterfaceCounters {
        InterfaceCounters {
            interface: interface.to_owned(),
            role,
            counters,
            qdiscs: Vec::new(),
        }
    }

    fn line(place: &str, frames: u64) -> LossEntry {
        LossEntry::counted(place, frames)
    }

    #[test]
    fn what_moved_is_named_where_frames_were_lost() {
        type Set = fn(&mut LinkCounters);
        type Lines = &'static [(&'static str, u64)];
        let none: Set = |_| {};
        let dropped: Set = |c| c.rx_dropped = 50;
        // A port drops what the tester has seen already.
        let unhandled: Set = |c| (c.rx_nohandler, c.rx_otherhost_dropped) = (9, 9);
        #[rustfmt::skip]
        let table: [(Set, Set, Role, u64, Lines); 8] = [
            (|c| c.tx_dropped = 100, |c| (c.tx_dropped, c.rx_missed_errors) = (112, 3), Role::Inner, 20,
                &[("d0 tx_dropped", 12), ("d0 rx_missed_errors", 3), (UNEXPLAINED, 5)]),
            // Frames that went on.
            (none, |c| (c.rx_packets, c.tx_packets, c.rx_bytes, c.tx_bytes, c.multicast) = (5, 5, 300, 300, 5),
                Role::Inner, 0, &[]),
            // Details are not counted beside their sum.
            (none, |c| (c.rx_errors, c.rx_crc_errors) = (4, 4), Role::Port, 4, &[("d0 rx_errors", 4)]),
            (none, unhandled, Role::Port, 0, &[]),
            (none, unhandled, Role::Inner, 9, &[("d0 rx_nohandler", 9)]),
            // Copies that die at the bridge itself.
            (none, dropped, Role::Bridge, 0, &[]),
            // A counter that went back.
            (dropped, none, Role::Inner, 0, &[]),
            // More was seen than was lost.
            (none, dropped, Role::Inner, 40, &[("d0 rx_dropped", 50)]),
        ];
        for (row, (before, after, role, lost, wanted)) in table.into_iter().enumerate() {
            let at = |set: Set| {
                let mut counters = LinkCounters::default();
                set(&mut counters);
                PathCounters::from(vec![reading("d0", role, counters)])
            };
            let wanted: Vec<_> = wanted
                .iter()
                .map(|(place, frames)| line(place, *frames))
                .collect();
            assert_eq!(ledger(&at(before), &at(after), lost), wanted, "row {row}");
        }
    }

    #[test]
    fn frames_that_a_queueing_discipline_dropped_are_named() {
        let at = |kind: &str, drops: u32| {
            PathCounters::from(vec![InterfaceCounters {
                qdiscs: vec![QdiscFacts {
                    kind: kind.to_owned(),
                    root: true,
                    drops: Some(u64::from(drops)),
                    ..QdiscFacts::default()
                }],
                ..reading("d1", Role::Inner, LinkCounters::default())
            }])
        };
        let named = [line("d1 qdisc tbf", 7), line(UNEXPLAINED, 3)];
        assert_eq!(ledger(&at("tbf", 5), &at("tbf", 12), 10), named);
        assert_eq!(ledger(&at("tbf", u32::MAX - 1), &at("tbf", 5), 10), named);
        // Another discipline, or one that began anew.
        let unnamed = [line(UNEXPLAINED, 10)];
        assert_eq!(ledger(&at("htb", 5), &at("tbf", 12), 10), unnamed);
        assert_eq!(ledger(&at("tbf", 5), &at("tbf", 0), 10), unnamed);
    }
}
