//! Limits on what a virtual function sends, on the interface that represents it on its NIC's switch:
//! a policer (act_police) for all that the representor receives.
//!
//! What the function sends is what its representor receives (Documentation/networking/representors.rst).
//! Frames that the NIC switches itself never come to the host, so that only the NIC can hold them: the
//! filter (cls_matchall, ingress) is offered to the driver, and the kernel tells whether it took it
//! (`TCA_CLS_FLAGS_IN_HW`). mlx5 and nfp do in Linux 6.12, for one filter of priority 1 with this one
//! action (`mlx5e_tc_configure_matchall`, `nfp_flower_install_rate_limiter`).
//!
//! What others have put on the ingress is never touched. A qdisc without a filter limits nothing and may be
//! anybody's: before one is made here, or its filter exchanged, that is written down (`/run/nicety`,
//! [`UndoLog`]), so that one that a killed nicety left is known.

mod message;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_sys::protocols::NETLINK_ROUTE;
use nicety_model::BitRate;
use nicety_model::traffic_control::instead_of;
use rustix::io::Errno;

use crate::net_error::NetError;
use crate::netlink::{Channel, Part};
use crate::netns::NetNs;
use crate::raw::RawMessage;
use crate::tc;
use crate::undo_log::UndoLog;

/// What passes above the rate at once, as time at the rate: a tenth of a second, as Open vSwitch's guide
/// sets it (Documentation/howto/qos.rst: a burst of 100 kbit for a rate of 1000 kbit/s). TCP, which a
/// policer can only drop, needs about what is on its way in a round trip.
pub const BURST: Duration = Duration::from_millis(100);
/// And at least so much, in bytes: more than a segmented packet of 64 KiB with the headers of its segments.
const LEAST_BURST: u64 = 98_304;

/// A policer set here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policer {
    /// Rate.
    pub rate: BitRate,
    /// The NIC has taken it; else it holds only what comes to the host.
    pub in_hardware: bool,
    /// Frames that came.
    pub frames: u64,
    /// Their bytes: those that came to the host without their Ethernet headers.
    pub bytes: u64,
    /// Of these, dropped; modulo 2³².
    pub drops: u32,
    /// Others have filters beside it.
    pub shared: bool,
}

/// What is found on the ingress of a representor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policed {
    /// Nothing.
    Open,
    /// A policer set here.
    Limited(Policer),
    /// A qdisc of somebody else, of this kind.
    Foreign(String),
}

/// A representor by number and name.
#[derive(Debug, Clone, Copy)]
pub struct Representor<'a> {
    /// Number of the interface.
    pub index: u32,
    /// Its name.
    pub name: &'a str,
}

/// The ingress qdiscs of a namespace at one moment: their kinds, by number of the interface.
pub type Ingress = HashMap<u32, String>;

/// The policers of the representors of one namespace.
#[derive(Debug)]
pub struct Policers {
    channel: Channel,
    /// Interfaces whose ingress qdisc was made here: one without a filter is not somebody else's.
    made: Mutex<BTreeSet<u32>>,
    /// Inode of the namespace.
    netns: u64,
}

impl Policers {
    /// Those of `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_ROUTE)?,
            made: Mutex::default(),
            netns: ns.inode(),
        })
    }

    /// All ingress qdiscs.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn ingress(&self) -> Result<Ingress, NetError> {
        let fill = |ingress: &mut Ingress, part: Part<'_>| {
            ingress.extend(message::ingress_qdisc(part.kind, part.body));
        };
        self.channel
            .dump(tc::dump_qdiscs(), Ingress::new, fill)
            .map_err(|e| NetError::new("list queueing disciplines", "of a namespace", e))
    }

    /// What limits the function behind a representor.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn read(&self, at: Representor<'_>, ingress: &Ingress) -> Result<Policed, NetError> {
        let Some(kind) = ingress.get(&at.index) else {
            return Ok(Policed::Open);
        };
        let filters = self.filters(at)?;
        // The qdisc is made together with the policer: one without is somebody else's, or somebody has taken
        // ours out of it, or whoever made it was killed before the policer came.
        Ok(match message::policer(&filters) {
            _ if kind != "ingress" => Policed::Foreign(kind.clone()),
            Some(policer) => Policed::Limited(policer),
            None if message::count(&filters) == 0 && self.is_own(at.index) => Policed::Open,
            None => Policed::Foreign(kind.clone()),
        })
    }

    /// As [`Self::read`], where there was a policer when it was last looked at.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn recount(&self, at: Representor<'_>) -> Result<Option<Policer>, NetError> {
        Ok(message::policer(&self.filters(at)?))
    }

    fn filters(&self, at: Representor<'_>) -> Result<Vec<RawMessage>, NetError> {
        self.channel
            .query(tc::dump_filters(at.index, tc::INGRESS), NLM_F_DUMP)
            .map_err(|e| NetError::new("list filters of", at.name, e))
    }

    /// Whether an ingress qdisc without a filter is nicety's.
    fn is_own(&self, index: u32) -> bool {
        self.made().contains(&index) || UndoLog::is_there(&noted(index), self.netns)
    }

    fn made(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Limits what the function sends; 0 takes the limit away.
    ///
    /// A filter of this kind cannot be changed in its place (`mall_change` of net/sched/cls_matchall.c
    /// answers EEXIST), and drivers take one of priority 1 only: the old one goes before the new one
    /// comes, and comes back when the new one is refused.
    ///
    /// # Errors
    /// [`NetError::Kernel`] when something of somebody else is in the place;
    /// [`NetError::Unsupported`] when the kernel has no act_police or cls_matchall;
    /// [`NetError::NotPermitted`].
    pub fn set(&self, at: Representor<'_>, rate: BitRate) -> Result<(), NetError> {
        let ingress = self.ingress()?;
        let current = self.read(at, &ingress)?;
        let has_qdisc = ingress.contains_key(&at.index);
        match (&current, rate.0) {
            (Policed::Foreign(kind), _) => {
                let show = format!("tc filter show dev {} ingress", at.name);
                let instead = instead_of(kind, &show);
                let why = format!("somebody else's {kind} qdisc is on it; {instead}");
                return Err(NetError::new("limit", at.name, io::Error::other(why)));
            }
            (Policed::Open, 0) if !has_qdisc => return Ok(()),
            (Policed::Limited(policer), _) if policer.rate == rate => return Ok(()),
            _ => {}
        }
        let note = self.note(at)?;
        let changed = match (current, rate.0) {
            (Policed::Limited(policer), 0) => self.remove(at, policer.shared),
            (_, 0) => self.remove(at, false),
            (Policed::Limited(policer), _) => self.exchange(at, policer.rate, rate),
            (_, _) if has_qdisc => self.add(at, rate),
            (_, _) => self.begin(at, rate),
        };
        // Where the qdisc is left without a filter, it is known by the note.
        if changed.is_ok() || !has_qdisc {
            note.clear();
        }
        changed
    }

    /// Notes on disk that an ingress qdisc without a filter is nicety's from here on.
    fn note(&self, at: Representor<'_>) -> Result<UndoLog, NetError> {
        let error = |e| NetError::new("note the limit of", at.name, e);
        let claimed = UndoLog::claim(&noted(at.index), self.netns).map_err(error)?;
        let Some((note, _)) = claimed else {
            let why = "another nicety changes it just now; try again";
            return Err(error(io::Error::other(why)));
        };
        note.write([at.name.to_owned()]).map_err(error)?;
        Ok(note)
    }

    /// The first policer, with its qdisc.
    fn begin(&self, at: Representor<'_>, rate: BitRate) -> Result<(), NetError> {
        let qdisc = tc::ingress(libc::RTM_NEWQDISC, at.index);
        self.change(qdisc, NLM_F_CREATE | NLM_F_EXCL, at)?;
        let added = self.add(at, rate);
        if added.is_err() {
            self.remove(at, false)?;
        }
        added
    }

    fn exchange(&self, at: Representor<'_>, old: BitRate, new: BitRate) -> Result<(), NetError> {
        self.change(message::remove_filter(at.index), 0, at)?;
        let added = self.add(at, new);
        if added.is_err() {
            self.add(at, old)?;
        }
        added
    }

    fn add(&self, at: Representor<'_>, rate: BitRate) -> Result<(), NetError> {
        let request = message::add_filter(at.index, rate, burst(rate));
        match self.change(request, NLM_F_CREATE | NLM_F_EXCL, at) {
            // No such classifier or action, loaded or to be loaded.
            Err(error) if error.is_not_found() => {
                let what = format!("{} by act_police and cls_matchall", at.name);
                let none = io::Error::from(Errno::OPNOTSUPP);
                Err(NetError::new("limit", what, none))
            }
            Ok(()) => {
                self.made().insert(at.index);
                Ok(())
            }
            other => other,
        }
    }

    /// Takes the qdisc along unless others use it by now.
    fn remove(&self, at: Representor<'_>, shared: bool) -> Result<(), NetError> {
        self.made().remove(&at.index);
        let request = if shared {
            message::remove_filter(at.index)
        } else {
            tc::ingress(libc::RTM_DELQDISC, at.index)
        };
        self.change(request, 0, at)
    }

    fn change(&self, request: RawMessage, flags: u16, at: Representor<'_>) -> Result<(), NetError> {
        self.channel
            .change(request, flags)
            .map_err(|e| NetError::new("limit", at.name, e))
    }
}

/// The log of an interface whose ingress qdisc may be without a filter.
fn noted(index: u32) -> String {
    format!("policer{index}")
}

/// Bytes that a policer lets through at once, beyond its rate.
pub fn burst_bytes(rate: BitRate) -> u64 {
    rate.bytes_in(burst(rate))
}

/// As time at the rate.
fn burst(rate: BitRate) -> Duration {
    let least = LEAST_BURST as f64 * 8.0 / rate.bps().max(1.0);
    BURST.max(Duration::from_secs_f64(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_tenth_of_a_second_or_a_segmented_packet() {
        assert_eq!(burst(BitRate::from_mbit(500)), BURST);
        let slow = burst(BitRate::from_mbit(1));
        assert_eq!(slow, Duration::from_micros(786_432));
    }
}
