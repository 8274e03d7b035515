//! What is known of a port from period to period, and the log lines when that changes.

use std::time::Duration;

use nicety_model::BitRate;

use crate::adopt::By;
use crate::controller::{Enforcement, PortDecision, Seen};
use crate::event::{PortEvent, PortTrouble};
use crate::meter::Sample;
use crate::policy::PortName;
use crate::snapshot::{Place, Snapshot};
use crate::totals::{Adder, Total};

/// Periods without a byte although some wait, after which a limiter counts as stuck; more where
/// the limit is so low that the largest packet takes longer.
const STUCK: u32 = 4;
/// Twice the largest packet, in bits.
const LARGEST_BITS: f64 = 2.0 * 98_304.0 * 8.0;

/// One port.
#[derive(Debug, Clone, Default)]
pub struct PortWatch {
    gone: bool,
    /// Gone, or there and not to be limited now.
    away: bool,
    /// Why it cannot be limited although it is there.
    waits: Option<String>,
    /// For how long the kernel has not told of it, where that is long.
    silent: Option<String>,
    /// The number of its interface.
    index: Option<u32>,
    trouble: Option<PortTrouble>,
    enforcement: Enforcement,
    /// Bytes that its limiter had forwarded, and for how many periods none although some waited.
    forwarded: u64,
    still: u32,
    adder: Adder,
    /// The limit that it was left with; none when that is not known.
    left_with: Option<BitRate>,
    /// A guard may lower it.
    guarded: bool,
    /// How often it had another one later.
    lost: u64,
    /// The limit of another program below which it is limited, and whose that is.
    adopted: Option<(By, BitRate)>,
    /// What was seen in the last period of an interface whose limit was not written since, and its
    /// number.
    last: Option<(u32, Seen)>,
}

/// What became of the limit of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitState {
    /// How often it was found gone or changed since the start.
    pub lost: u64,
    /// The port is there and cannot be limited now.
    pub unlimited: bool,
}

/// Result of a look at a port.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observation {
    /// Input of the controller.
    pub seen: Seen,
    /// Events to log, in order.
    pub events: Vec<PortEvent>,
    /// It has just gone: its remains are to be removed.
    pub left: bool,
    /// Another interface has its name: that one comes with the next look at everything.
    pub replaced: bool,
    /// Its found state could not be noted.
    pub not_noted: bool,
}

impl PortWatch {
    /// What is seen of it when `still` says that nothing has happened since it was seen last.
    pub fn unchanged(&mut self, still: impl FnOnce((u32, Seen)) -> Option<Seen>) -> Option<Seen> {
        self.silent = None;
        self.last.and_then(still)
    }

    /// Takes a look at it. `note` writes down what was found there, its limit and the number of its interface,
    /// before the port is changed: if that fails, the port could not be put back and is not
    /// changed.
    pub fn observe(
        &mut self,
        port: &PortName,
        mut snapshot: Snapshot,
        note: impl FnOnce(&str, Option<u32>) -> Result<(), String>,
    ) -> Observation {
        let last = self.last.take();
        if let Place::Silent(why) = snapshot.place {
            // Nothing is known to be otherwise.
            (self.silent, self.last) = (why, last);
            let seen = if self.away {
                Seen::default()
            } else {
                snapshot.seen
            };
            return Observation {
                seen,
                ..Observation::default()
            };
        }
        let mut observed = Observation::default();
        if self.index.is_some() && snapshot.index.is_some_and(|now| self.index != Some(now)) {
            snapshot = Snapshot::without(Place::Gone);
            observed.replaced = true;
        }
        self.adder.take(snapshot.counts);
        let gone = snapshot.place == Place::Gone;
        if gone != self.gone {
            self.gone = gone;
            observed.left = gone;
            observed.events.push(if gone {
                PortEvent::Gone
            } else {
                PortEvent::Back
            });
        }
        if gone {
            self.index = None;
            self.left_with = None;
        }
        let was_away = self.away;
        let foreign = matches!(snapshot.place, Place::Foreign(_) | Place::Theirs(_));
        let adopted = (snapshot.adopted.as_ref()).map(|adopted| (adopted.by, adopted.rate));
        if adopted != self.adopted {
            self.adopted = adopted;
            observed.events.push(match adopted {
                Some((by, most)) if snapshot.replaces => PortEvent::Replaced { by, most },
                Some((by, most)) => PortEvent::Adopted { by, most },
                None => PortEvent::NotAdopted,
            });
        }
        let trouble = match snapshot.place {
            Place::Gone | Place::Silent(_) => None,
            Place::Waits(why) | Place::Unfit(why) => Some(PortTrouble::Waits(why)),
            Place::Foreign(kind) => Some(PortTrouble::Foreign(kind)),
            Place::Theirs(what) => Some(PortTrouble::Waits(match *what {
                Ok(adopted) => format!("{} limits it to {}", adopted.by, adopted.rate),
                Err(what) if what.is_at_root() => {
                    format!("somebody else's discipline is in the way: {what}")
                }
                Err(what) => format!("somebody else's filters are in the way: {what}"),
            })),
            Place::There(words) => note(&words, snapshot.index).err().map(|error| {
                observed.not_noted = true;
                PortTrouble::Waits(format!("what was found there cannot be noted: {error}"))
            }),
        };
        self.waits = trouble.as_ref().and_then(PortTrouble::waits);
        self.away = gone || trouble.is_some();
        observed.seen = snapshot.seen;
        if trouble.is_some() {
            // Whoever puts something in the place of a limit has taken that away.
            let had = self.left_with.take().filter(|had| had.0 > 0);
            self.lost += u64::from(foreign && had.is_some());
            observed.events.extend(self.trouble(trouble));
            observed.seen = Seen::default();
        } else if was_away && !self.away {
            // Whatever kept it from a limit is over.
            observed.events.extend(self.trouble(None));
            // A driver may tell a limit that its hardware has lost with its link.
            if matches!(port, PortName::Vf { .. }) {
                observed.seen.limit = None;
            }
        }
        if !self.away {
            // Theirs holds where theirs alone is left: a program that knows no other way has made it anew.
            let theirs_alone = adopted.is_some() && observed.seen.limit == Some(BitRate(0));
            if theirs_alone {
                self.left_with = None;
            } else {
                observed.events.extend(self.compare(observed.seen.limit));
            }
            self.index = snapshot.index;
            self.last = snapshot.index.map(|at| (at, observed.seen));
        }
        observed
    }

    /// The limit that is found, beside the one that it was left with.
    fn compare(&mut self, found: Option<BitRate>) -> Option<PortEvent> {
        let had = std::mem::replace(&mut self.left_with, found)?;
        let found = found.filter(|found| *found != had)?;
        if self.guarded && found.0 > 0 && found < had {
            return None;
        }
        self.lost += 1;
        Some(PortEvent::LimitLost { had, found })
    }

    /// Obstacle to its limit now, or none; logged when it is new.
    pub fn trouble(&mut self, now: Option<PortTrouble>) -> Option<PortEvent> {
        if self.trouble == now {
            return None;
        }
        self.trouble.clone_from(&now);
        Some(now.map_or(PortEvent::TroubleOver, PortEvent::Trouble))
    }

    /// Whether its limiter lets nothing through although something waits, for so many periods that it is to
    /// be renewed.
    pub fn is_stuck(&mut self, seen: &Seen, limit: BitRate, period: Duration) -> bool {
        let Some(Sample { bytes, backlog, .. }) = seen.sample else {
            self.still = 0;
            return false;
        };
        let waits = backlog.is_some_and(|bytes| bytes > 0);
        let still = waits && bytes == self.forwarded;
        self.still = if still { self.still + 1 } else { 0 };
        self.forwarded = bytes;
        let longest = LARGEST_BITS / limit.bps().max(1.0);
        let periods = (longest / period.as_secs_f64()).ceil() as u32;
        let stuck = self.still >= STUCK.max(periods);
        if stuck {
            self.still = 0;
        }
        stuck
    }

    /// Changes in how its limit holds.
    pub fn enforcement(&mut self, port: &PortDecision) -> Option<PortEvent> {
        let was = std::mem::replace(&mut self.enforcement, port.enforcement);
        let leaked = was == Enforcement::NotEnforced;
        let leaks = port.enforcement == Enforcement::NotEnforced;
        let (rate_bps, limit_bps) = (port.rate_bps, port.limit.bps());
        match (leaked, leaks) {
            (false, true) => Some(PortEvent::NotEnforced {
                rate_bps,
                limit_bps,
            }),
            (true, false) if port.present => Some(PortEvent::EnforcedAgain {
                rate_bps,
                limit_bps,
            }),
            _ => None,
        }
    }

    /// Adds to a decision why the port waits.
    pub fn explain(&self, port: &mut PortDecision) {
        port.waits.clone_from(&self.waits);
        if self.silent.is_some() {
            port.present = false;
            port.waits.clone_from(&self.silent);
        }
    }

    /// Its limit is written: it must be looked at. What the kernel makes of it is not known yet.
    pub fn writes(&mut self) {
        (self.last, self.left_with) = (None, None);
    }

    /// The kernel has taken the limit; where it is `guarded`, a guard may lower it, which is no loss.
    pub fn wrote(&mut self, limit: BitRate, guarded: bool) {
        (self.left_with, self.guarded) = (Some(limit), guarded);
    }

    /// What became of its limit.
    pub fn limit_state(&self) -> LimitState {
        LimitState {
            lost: self.lost,
            unlimited: self.waits.is_some() && self.silent.is_none(),
        }
    }

    /// The interface of one whose limit was not written since it was seen last.
    pub fn interface(&self) -> Option<u32> {
        self.last.map(|(index, _)| index)
    }

    /// Totals sent and received since the start.
    pub fn total(&self) -> Total {
        self.adder.total
    }
}

#[cfg(test)]
mod tests;
