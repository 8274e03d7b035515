//! Puts what a guest saw of frames between what the host saw of them before and behind it.

use std::collections::BTreeMap;

use nicety_model::hop::GuestClock;

use super::clock::{Bound, compare};
use crate::hops::{Seen, Station, same_frame, since};
use crate::probes::{Offset, Reading};

/// What a guest saw of frames.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inside {
    /// Its name: `guest`.
    pub guest: String,
    /// Frames at its stations, by its clock, in the order in which they were noted.
    pub seen: Vec<Seen>,
    /// Its stations, with interfaces as places of the path: `guest eth0`.
    pub stations: Vec<Station>,
    /// Readings of its clock between two of the host's, before and after the trial.
    pub exchanges: [Vec<Reading>; 2],
}

/// What host and guest saw together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Woven {
    /// By the host's clock.
    pub seen: Vec<Seen>,
    /// The host's stations, then the guest's.
    pub stations: Vec<Station>,
    /// How far the clocks were compared; `None` where the guest saw nothing of these frames.
    pub clock: Option<GuestClock>,
}

/// A frame that both saw.
struct Frame {
    host: Vec<Seen>,
    guest: Vec<Seen>,
    /// Sightings of the host before the guest's.
    before: usize,
}

impl Frame {
    /// What it tells of the clocks, where it came back.
    fn bound(&self) -> Option<Bound> {
        let behind = self.host.get(self.before)?;
        // Where the host saw it nowhere before, it has been sent.
        let sent = behind.at_ns.cast_signed() - since(behind.sent_ns, behind.at_ns);
        let before = match self.before.checked_sub(1) {
            Some(last) => self.host.get(last)?.at_ns.cast_signed(),
            None => sent,
        };
        let [came, left] = [self.guest.first()?, self.guest.last()?];
        Some(Bound {
            at_ns: before,
            low_ns: left.at_ns.wrapping_sub(behind.at_ns).cast_signed(),
            high_ns: came.at_ns.cast_signed().saturating_sub(before),
        })
    }

    /// How far the guest's clock was ahead while it had the frame. The frame itself bounds it: a comparison that is off
    /// by more than it took on one way would have it come before it left.
    fn ahead(&self, clock: &Offset) -> i64 {
        let came = self.guest.first().map_or(0, |of| of.at_ns.cast_signed());
        let ahead = clock.at_b(came);
        match self.bound() {
            Some(bound) => ahead.max(bound.low_ns).min(bound.high_ns),
            None => ahead,
        }
    }
}

/// Puts what `inside` saw into what the host saw, `seen` at `stations`. `before` says which of the host's interfaces frames
/// pass before the guest. Frames that the host did not see are left out.
pub fn weave(
    seen: Vec<Seen>,
    stations: Vec<Station>,
    inside: &Inside,
    before: &dyn Fn(&str) -> bool,
) -> Woven {
    let mut by_frame: BTreeMap<(u64, u64), Frame> = BTreeMap::new();
    let mut theirs = inside.seen.clone();
    theirs.sort_by_key(|of| (of.frame, of.sent_ns));
    let mut own = seen;
    // Stable: those of a frame stay in the order in which they were noted.
    own.sort_by_key(|of| (of.frame, of.sent_ns));
    let is_before = |of: &Seen| {
        let station = stations.get(of.station);
        station.is_some_and(|station| before(&station.device))
    };
    for host in own.chunk_by(same_frame) {
        let last = host.iter().rposition(is_before);
        let frame = Frame {
            host: host.to_vec(),
            guest: Vec::new(),
            before: last.map_or(0, |last| last + 1),
        };
        by_frame.insert((host[0].frame, host[0].sent_ns), frame);
    }
    for guest in theirs.chunk_by(same_frame) {
        if let Some(frame) = by_frame.get_mut(&(guest[0].frame, guest[0].sent_ns)) {
            frame.guest = guest.to_vec();
        }
    }
    let common = |frame: &&Frame| !frame.guest.is_empty();
    let both = by_frame.values().filter(common);
    let mut bounds: Vec<Bound> = both.filter_map(Frame::bound).collect();
    bounds.sort_by_key(|bound| bound.at_ns);
    let [asked, again] = &inside.exchanges;
    let clock = if by_frame.values().any(|frame| common(&frame)) {
        compare([asked, again], &bounds)
    } else {
        None
    };
    let Some(clock) = clock else {
        return Woven {
            seen: own,
            stations,
            clock: None,
        };
    };
    let error_ns = clock.error_ns().ceil().max(0.0) as u64;
    let first = stations.len();
    let mut all = stations;
    all.extend(inside.stations.iter().map(|station| Station {
        clock_error_ns: Some(error_ns),
        ..station.clone()
    }));
    let mut woven = Vec::new();
    for frame in by_frame.into_values() {
        let (before, behind) = frame.host.split_at(frame.before.min(frame.host.len()));
        woven.extend_from_slice(before);
        let ahead = frame.ahead(&clock);
        woven.extend(frame.guest.iter().map(|of| {
            let at_ns = of.at_ns.cast_signed();
            Seen {
                at_ns: at_ns.saturating_sub(ahead).cast_unsigned(),
                station: first + of.station,
                ..*of
            }
        }));
        woven.extend_from_slice(behind);
    }
    let round_trip = |readings: &Vec<Reading>| {
        let widths = readings.iter().map(|of| of.after_ns.abs_diff(of.before_ns));
        widths.min()
    };
    let told = GuestClock {
        guest: inside.guest.clone(),
        error_ns,
        drift_ppb: clock.drift_ppb().round() as i64,
        round_trip_ns: round_trip(asked)
            .zip(round_trip(again))
            .map(|(a, b)| a.max(b)),
    };
    Woven {
        seen: woven,
        stations: all,
        clock: Some(told),
    }
}

#[cfg(test)]
#[path = "woven_tests.rs"]
mod tests;
