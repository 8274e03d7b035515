//! Reads what a guest says. It may say anything.

use nicety_account::hops::{Seen, Station};
use nicety_account::inside::{GuestFates, Row, WEAK};
use nicety_model::FateCause;
use serde::Deserialize;
use serde_json::Value;

use super::wire::{Answer, Cause, Does, NAME_MAX, Noted, Place, ROWS_MAX, SEEN_MAX, WHY_MAX};
use crate::layout::CAUSES_MAX;

/// Stations that programs tell apart, `STATIONS` of `bpf/stations.bpf.h`.
const STATIONS_MAX: usize = 256;
/// Streams of a trial at most.
const STREAMS_MAX: usize = 255;
/// Characters of an interface's name, `IFNAMSIZ` without its end.
const DEVICE_MAX: usize = 15;
/// Times are below: 146 years.
const TIME_BITS: u32 = 62;
/// What is said of an answer that is none.
const SENSELESS: &str = "its answer is not one that this program gives";

/// What a guest said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It follows.
    Begun,
    /// Its clock, in nanoseconds.
    Clock(u64),
    /// What it noted.
    Noted {
        /// Of frames that it lost.
        fates: GuestFates,
        /// Rows of numbers that there was no room for.
        rows_left_out: u64,
        /// Frames at its stations.
        seen: Vec<Seen>,
        /// Its stations.
        stations: Vec<Station>,
        /// Times that there was no room to note a frame.
        unnoted: u64,
    },
}

/// Reads the answer of the guest of this name.
///
/// # Errors
/// Why there is none, in words that are fit to be shown.
pub fn read(guest: &str, answer: &Value) -> Result<Told, String> {
    let senseless = || SENSELESS.to_owned();
    match Answer::deserialize(answer).map_err(|_| senseless())? {
        Answer::Begun => Ok(Told::Begun),
        Answer::Clock(ns) if ns >> TIME_BITS == 0 => Ok(Told::Clock(ns)),
        Answer::Refused(why) if is_text(&why, WHY_MAX) => Err(why),
        Answer::Told(noted) => told(guest, &noted).ok_or_else(senseless),
        Answer::Clock(_) | Answer::Refused(_) => Err(senseless()),
    }
}

fn told(guest: &str, noted: &Noted) -> Option<Told> {
    let fits = noted.causes.len() <= CAUSES_MAX as usize
        && noted.stations.len() <= STATIONS_MAX
        && noted.rows.len() <= STREAMS_MAX;
    if !fits {
        return None;
    }
    let mut causes: Vec<(usize, FateCause)> = Vec::new();
    for cause in &noted.causes {
        let Cause {
            number,
            device,
            function,
            reason,
        } = cause;
        let number = usize::from(*number);
        let device = device.as_deref().unwrap_or_default();
        let taken = causes.iter().any(|(of, _)| *of == number);
        if number == 0 || number > CAUSES_MAX as usize || taken {
            return None;
        }
        causes.push((number, dropped(guest, device, [function, reason])?));
    }
    let mut room = ROWS_MAX;
    let rows = noted.rows.iter().map(|text| rows(text, &mut room));
    let fates = GuestFates {
        rows: rows.collect::<Option<_>>()?,
        causes,
    };
    let stations = noted.stations.iter().map(|place| station(guest, place));
    let stations: Vec<Station> = stations.collect::<Option<_>>()?;
    Some(Told::Noted {
        fates,
        rows_left_out: noted.rows_left_out,
        seen: seen(&noted.seen, &stations, noted.rows.len().max(2))?,
        stations,
        unnoted: noted.unnoted,
    })
}

fn rows(text: &str, room: &mut usize) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    let mut end = 0_u64;
    let mut words = numbers(text);
    while let Some(gap) = words.next() {
        let [gap, frames, cause] = [gap, words.next()?, words.next()?];
        *room = room.checked_sub(1)?;
        let row = Row {
            first: end.checked_add(gap?)?,
            frames: frames.filter(|frames| *frames > 0)?,
            cause: u8::try_from(cause?).ok().filter(|cause| *cause > 0)?,
        };
        end = row.first.checked_add(row.frames)?;
        rows.push(row);
    }
    Some(rows)
}

fn seen(text: &str, stations: &[Station], streams: usize) -> Option<Vec<Seen>> {
    let mut all = Vec::new();
    let mut words = numbers(text);
    while let Some(stream) = words.next() {
        let mut next = || words.next().flatten();
        let stream = stream?;
        let [number, sent_ns, at_ns] = [next()?, next()?, next()?];
        let [station, cpu, merged] = [next()?, next()?, next()?];
        let fits = stream < streams as u64
            && number <= u64::from(u32::MAX)
            && sent_ns >> 48 == 0
            && at_ns >> TIME_BITS == 0
            && station < stations.len() as u64
            && all.len() < SEEN_MAX;
        if !fits {
            return None;
        }
        all.push(Seen {
            frame: stream << 32 | number,
            sent_ns,
            at_ns,
            station: usize::try_from(station).ok()?,
            cpu: u32::try_from(cpu).ok()?,
            merged: u16::try_from(merged).ok()?,
        });
    }
    Some(all)
}

/// The numbers of a text, which are apart by single spaces; `None` for what is no number.
fn numbers(text: &str) -> impl Iterator<Item = Option<u64>> + '_ {
    let words = text.split(' ').filter(move |_| !text.is_empty());
    words.map(|word| {
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        word.parse().ok().filter(|_| digits)
    })
}

fn station(guest: &str, place: &Place) -> Option<Station> {
    let does = match place.does {
        // A number that no station has.
        Does::Nothing => return Some(Station::default()),
        Does::Receives => "received at",
        Does::Sends => "sent at",
        Does::Frees => "thrown away at",
    };
    let cause = match place.does {
        Does::Frees => Some(dropped(
            guest,
            &place.device,
            [&place.function, &place.reason],
        )?),
        _ => None,
    };
    let device = device(guest, &place.device)?.unwrap_or_else(|| guest.to_owned());
    let weak = place.reason.as_deref().is_some_and(|of| WEAK.contains(&of));
    Some(Station {
        name: format!("{does} {device}"),
        device,
        copies: weak && cause.is_some(),
        cause,
        ..Station::default()
    })
}

fn dropped(guest: &str, at: &str, [function, reason]: [&Option<String>; 2]) -> Option<FateCause> {
    let name = |text: &Option<String>| text.as_deref().is_none_or(|text| is_text(text, NAME_MAX));
    let known = name(function) && name(reason);
    // Where the kernel does not say, it was in this guest's at least.
    let device = Some(device(guest, at)?.unwrap_or_else(|| guest.to_owned()));
    known.then(|| FateCause::Dropped {
        device,
        function: function.clone(),
        reason: reason.clone(),
    })
}

/// An interface as a place of the path: `guest eth0`; nothing where there is none.
fn device(guest: &str, name: &str) -> Option<Option<String>> {
    if name.is_empty() {
        return Some(None);
    }
    let one = is_text(name, DEVICE_MAX) && !name.contains(' ');
    one.then(|| Some(format!("{guest} {name}")))
}

/// Whether a text can be shown: no control characters, nothing that is not ASCII.
fn is_text(text: &str, longest: usize) -> bool {
    let fits = (1..=longest).contains(&text.len());
    fits && text
        .bytes()
        .all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
