//! What guests on the path note of frames, in trials that look for it.

use std::time::Duration;

use nicety_account::Reading;
use nicety_account::hops::Seen;
use nicety_account::inside::{GuestFates, Inside, weave};
use nicety_fate::inside::{Ask, BEGIN_LIMIT, CLOCK_LIMIT, END_LIMIT, Follow, Told, read};
use nicety_fate::{Passed, Windows};
use nicety_model::Note;
use nicety_model::hop::GuestClock;
use nicety_model::note::TrialNote;
use nicety_paths::path::{Kernels, Path};
use nicety_port::clock;

/// Readings of a guest's clock before a trial, and after it.
const READINGS: usize = 5;

/// Guests that follow the frames of a trial. They stop when it is dropped.
pub struct Following<'p> {
    kernels: &'p dyn Kernels,
    guests: Vec<Guest>,
    /// Whether clocks are compared.
    hops: bool,
    notes: Vec<Note>,
}

struct Guest {
    number: usize,
    name: String,
    before: Vec<Reading>,
}

/// What they noted.
#[derive(Debug, Default)]
pub struct Noted {
    /// Of lost frames.
    pub(crate) fates: Vec<GuestFates>,
    /// Of frames that passed.
    pub(crate) passed: Vec<Inside>,
    /// Times that there was no room.
    pub(crate) unnoted: u64,
    /// Guests of which nothing is known.
    pub notes: Vec<Note>,
}

impl Noted {
    /// Puts what guests saw of frames of stream 0 (A to B), or else 1, between what the host saw of them; and their clocks.
    /// `places` are the path's interfaces in the order from A to B.
    pub fn weave(
        &self,
        passed: Passed,
        places: &[&str],
        stream: usize,
    ) -> (Passed, Vec<GuestClock>) {
        let mut all = Passed {
            unnoted: passed.unnoted.saturating_add(self.unnoted),
            ..passed
        };
        let mut clocks = Vec::new();
        for guest in &self.passed {
            let before = before(places, &guest.guest, stream);
            let own = |of: &&Seen| of.stream() as usize == stream;
            let inside = Inside {
                seen: guest.seen.iter().filter(own).copied().collect(),
                ..guest.clone()
            };
            let is_before = |device: &str| before.contains(&device);
            let woven = weave(all.seen, all.stations, &inside, &is_before);
            (all.seen, all.stations) = (woven.seen, woven.stations);
            clocks.extend(woven.clock);
        }
        (all, clocks)
    }
}

impl<'p> Following<'p> {
    /// Has the guests on `path` follow frames, and note the way of those in `windows`; `None` where there are no guests.
    pub fn begin(path: &'p dyn Path, follow: &Follow, windows: Option<Windows>) -> Option<Self> {
        let kernels = path.kernels()?;
        let mut following = Self {
            kernels,
            guests: Vec::new(),
            hops: windows.is_some(),
            notes: Vec::new(),
        };
        let ask = Ask::Begin(follow.clone().hops(windows));
        for (number, name) in kernels.names().into_iter().enumerate() {
            let mut guest = Guest {
                number,
                name,
                before: Vec::new(),
            };
            match following.ask(&guest, &ask, BEGIN_LIMIT) {
                Ok(Told::Begun) => {
                    guest.before = following.readings(&guest);
                    following.guests.push(guest);
                }
                Ok(_) => following.unseen(&guest, "it answered something else".to_owned()),
                Err(why) => following.unseen(&guest, why),
            }
        }
        Some(following)
    }

    /// What they noted; they stop.
    pub fn end(mut self) -> Noted {
        let mut noted = Noted::default();
        for guest in std::mem::take(&mut self.guests) {
            let after = self.readings(&guest);
            match self.ask(&guest, &Ask::End, END_LIMIT) {
                Ok(Told::Noted {
                    fates,
                    rows_left_out,
                    seen,
                    stations,
                    unnoted,
                }) => {
                    noted.fates.push(fates);
                    noted.unnoted = noted.unnoted.saturating_add(unnoted);
                    if rows_left_out > 0 {
                        let why = "it lost more frames than it may tell of".to_owned();
                        self.unseen(&guest, why);
                    }
                    noted.passed.push(Inside {
                        guest: guest.name,
                        seen,
                        stations,
                        exchanges: [guest.before, after],
                    });
                }
                Ok(_) => self.unseen(&guest, "it answered something else".to_owned()),
                Err(why) => self.unseen(&guest, why),
            }
        }
        noted.notes = std::mem::take(&mut self.notes);
        noted
    }

    fn ask(&self, guest: &Guest, ask: &Ask, limit: Duration) -> Result<Told, String> {
        let answer = self.kernels.work(guest.number, ask.value(), limit);
        let answer = answer.map_err(|error| error.to_string())?;
        read(&guest.name, &answer)
    }

    /// Readings of its clock between two of the host's.
    fn readings(&self, guest: &Guest) -> Vec<Reading> {
        let reading = |_| {
            let before_ns = clock::monotonic_ns().cast_signed();
            let told = self.ask(guest, &Ask::Clock, CLOCK_LIMIT).ok()?;
            let after_ns = clock::monotonic_ns().cast_signed();
            match told {
                Told::Clock(ns) => Some(Reading {
                    before_ns,
                    clock_ns: ns.cast_signed(),
                    after_ns,
                }),
                _ => None,
            }
        };
        let count = if self.hops { READINGS } else { 0 };
        // One that does not answer is not waited for again.
        (0..count).map_while(reading).collect()
    }

    fn unseen(&mut self, guest: &Guest, why: String) {
        let guest = guest.name.clone();
        self.notes
            .push(TrialNote::GuestUnseen { guest, why }.into());
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        // The trial was broken off, and nobody wants to know.
        for guest in &self.guests {
            let _ = self.ask(guest, &Ask::End, END_LIMIT);
        }
    }
}

/// The interfaces of the path that frames of stream 0 (A to B), or else 1, pass before a guest. `places` are in the order
/// from A to B.
fn before<'p>(places: &[&'p str], guest: &str, stream: usize) -> Vec<&'p str> {
    let own = |place: &&str| {
        let rest = place.strip_prefix(guest);
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    let found = match stream {
        0 => places.iter().position(own).map(|at| &places[..at]),
        _ => places.iter().rposition(own).map(|at| &places[at + 1..]),
    };
    found.unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_before_a_guest_depends_on_the_way() {
        let places = "a,d0,t0,guest0 eth0,guest0 eth1,t1,t2,guest1 eth0,guest1 eth1,t3,d1,b";
        let places: Vec<&str> = places.split(',').collect();
        assert_eq!(before(&places, "guest0", 0), ["a", "d0", "t0"]);
        assert_eq!(before(&places, "guest1", 1), ["t3", "d1", "b"]);
        assert!(before(&places, "guest", 0).is_empty());
    }
}
