//! The journeys of single frames, from what programs saw of them and the numbers that arrived.

use nicety_model::journey::{Journey, JourneyEnd, Sighting, TraceSummary};
use nicety_model::{LossEntry, SCHEMA};

use crate::AccountError;
use crate::hops::{Seen, Station, crossing, end, own, same_frame, since};
use crate::latency::Latency;

/// Frames of which a 99th percentile is known.
const MANY: u64 = 1000;

/// The frames of one burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Burst<'a> {
    /// Frames of earlier bursts.
    pub before: u64,
    /// Numbers that were given to frames of this one, from 0 on.
    pub made: u64,
    /// A bit for every number that arrived; `None` where the tester does not say.
    pub arrived: Option<&'a [u64]>,
    /// When the trace began, by the clock of the stamps, in nanoseconds.
    pub begun_ns: u64,
}

impl Burst<'_> {
    fn has(&self, number: u64) -> Option<bool> {
        let word = self.arrived?.get((number / 64) as usize).copied();
        Some(word.unwrap_or(0) >> (number % 64) & 1 == 1)
    }
}

/// The journeys of a burst's frames, one stream, in the order of their numbers.
pub fn join(seen: Vec<Seen>, stations: &[Station], burst: &Burst<'_>) -> Vec<Journey> {
    let seen = own(seen, stations);
    let arrives = |of: &Seen| {
        let station = stations.get(of.station);
        station.is_some_and(|station| station.arrives)
    };
    let mut frames = seen.chunk_by(same_frame).peekable();
    let journey = |number| {
        let mut own: &[Seen] = &[];
        // Of two with this number one is another tester's.
        while let Some(frame) =
            frames.next_if(|frame| frame.first().is_some_and(|of| of.frame <= number))
        {
            let is = frame.first().is_some_and(|of| of.frame == number);
            if is && (own.is_empty() || frame.iter().any(arrives)) {
                own = frame;
            }
        }
        journey(number, own, stations, burst)
    };
    (0..burst.made).map(journey).collect()
}

fn journey(number: u64, seen: &[Seen], stations: &[Station], burst: &Burst<'_>) -> Journey {
    let known = |of: &Seen| stations.get(of.station).map(|station| (*of, station));
    let mut way: Vec<(Seen, &Station)> = seen.iter().filter_map(known).collect();
    if let Some(at) = way.iter().position(|(_, station)| station.arrives) {
        way.truncate(at + 1);
    }
    let last = end(&way);
    // A copy that was thrown away is no part of the frame's own way.
    let own = |(of, station): &(Seen, &Station)| {
        !station.copies || last.is_some_and(|(last, _)| last == *of)
    };
    way.retain(own);
    let mut before = seen.first().map_or(0, |of| of.sent_ns);
    // Of the stamp it is the host's.
    let mut clock = None;
    let sightings = way.iter().map(|(of, station)| {
        let after = since(before, of.at_ns).max(0);
        before = of.at_ns;
        let error_ns = crossing(clock, station.clock_error_ns);
        clock = station.clock_error_ns;
        Sighting {
            station: station.name.clone(),
            device: station.device.clone(),
            after_ns: after.cast_unsigned(),
            cpu: of.cpu,
            error_ns,
        }
    });
    let sightings = sightings.collect();
    let arrival = last.filter(|(_, station)| station.arrives);
    let total_ns = arrival.map(|(of, _)| since(of.sent_ns, of.at_ns).max(0).cast_unsigned());
    let arrived = burst.has(number).unwrap_or(arrival.is_some());
    let sent = seen
        .first()
        .map(|of| since(burst.begun_ns, of.sent_ns) as f64 / 1e9);
    Journey {
        schema: SCHEMA,
        number: burst.before + number + 1,
        sent_s: sent,
        stations: sightings,
        end: match (arrived, last) {
            (true, _) => JourneyEnd::Received { total_ns },
            (false, None) => JourneyEnd::Unseen,
            (false, Some((_, station))) => match &station.cause {
                Some(cause) => JourneyEnd::Dropped {
                    cause: cause.clone(),
                },
                None => JourneyEnd::LastSeen {
                    station: station.name.clone(),
                },
            },
        },
    }
}

/// Adds journeys up.
#[derive(Debug)]
pub struct Tally {
    summary: TraceSummary,
    times: Latency,
}

impl Tally {
    /// Of none yet.
    ///
    /// # Errors
    /// When a histogram cannot be made.
    pub fn new() -> Result<Self, AccountError> {
        Ok(Self {
            summary: TraceSummary {
                schema: SCHEMA,
                ..TraceSummary::default()
            },
            times: Latency::new()?,
        })
    }

    /// Frames so far.
    pub fn sent(&self) -> u64 {
        self.summary.sent
    }

    /// Adds one.
    pub fn add(&mut self, journey: &Journey) {
        let summary = &mut self.summary;
        summary.sent += 1;
        let entry = match &journey.end {
            JourneyEnd::Received { total_ns } => {
                summary.received += 1;
                if let Some(ns) = total_ns {
                    self.times.record((*ns).cast_signed());
                }
                return;
            }
            JourneyEnd::Dropped { cause } => LossEntry::found(cause.clone(), 1),
            JourneyEnd::LastSeen { station } => {
                LossEntry::counted(format!("last seen {station}"), 1)
            }
            JourneyEnd::Unseen => LossEntry::counted("seen nowhere", 1),
        };
        summary.lost += 1;
        let same = |of: &&mut LossEntry| (&of.place, &of.cause) == (&entry.place, &entry.cause);
        match summary.causes.iter_mut().find(same) {
            Some(of) => of.frames += 1,
            None => summary.causes.push(entry),
        }
    }

    /// What they come to after so many seconds, in which there was no room to note a frame so many times.
    pub fn finish(mut self, seconds: f64, unnoted: u64) -> TraceSummary {
        let ns = |us: f64| (us * 1e3).round().max(0.0) as u64;
        let times = self.times.summary();
        let summary = &mut self.summary;
        summary.p50_ns = times.map(|times| ns(times.p50));
        let many = times.filter(|times| times.samples >= MANY);
        summary.p99_ns = many.map(|times| ns(times.p99));
        summary
            .causes
            .sort_by(|a, b| b.frames.cmp(&a.frames).then(a.place.cmp(&b.place)));
        (summary.seconds, summary.unnoted) = (seconds, unnoted);
        self.summary
    }
}

#[cfg(test)]
mod tests;
