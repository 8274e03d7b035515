//! How long frames were where, in trials that look for it.

use nicety_account::hops::{Seen, join};
use nicety_fate::{Passed, Refusal};
use nicety_model::fate::{Way as Direction, WayFate};
use nicety_model::hop::HopReport;
use nicety_model::note::TrialNote;
use nicety_model::{FateReport, TrialRecord};

use crate::inside::Noted;

/// The way of the frames.
pub(crate) struct Way<'w> {
    /// Ports A and B; frames of stream 0 leave A, those of stream 1 leave B.
    pub(crate) ports: [&'w str; 2],
    /// Places from A to B.
    pub(crate) places: Vec<&'w str>,
    /// What guests saw.
    pub(crate) inside: &'w Noted,
}

/// Puts what was seen into the record, or says why it was not.
pub(crate) fn add(record: &mut TrialRecord, passed: Result<Passed, Refusal>, way: &Way<'_>) {
    let joined =
        passed
            .map_err(|why| why.to_string())
            .and_then(|passed| match record.streams.len() {
                2.. => both(passed, way).map(|hops| (None, hops)),
                _ => one(passed, way, 0).map(|hops| (Some(hops), Vec::new())),
            });
    let (mut hops, ways) = match joined {
        Ok(joined) => joined,
        Err(why) => {
            record.notes.push(TrialNote::FatesUnknown { why }.into());
            return;
        }
    };
    if let Some(hops) = &mut hops {
        let mean = record.latency_us.map(|latency| latency.mean * 1e3);
        hops.all_mean_ns = mean.map(|ns| ns.round().max(0.0) as u64);
    }
    let frames = record.streams.iter().map(|stream| stream.frames);
    let ways = ways.into_iter().zip(frames).zip(Direction::BOTH);
    let ways = ways.map(|((hops, frames), way)| WayFate {
        way,
        sent: frames.sent,
        lost: frames.lost,
        ledger: Vec::new(),
        hops: Some(hops),
    });
    record.fate = Some(FateReport {
        hops,
        ways: ways.collect(),
        ..FateReport::default()
    });
}

/// Of one stream.
fn one(passed: Passed, way: &Way<'_>, stream: usize) -> Result<HopReport, String> {
    let (passed, clocks) = way.inside.weave(passed, &way.places, stream);
    let sender = format!("sent at {}", way.ports[stream & 1]);
    let hops = join(passed.seen, &passed.stations, &sender).map_err(|error| error.to_string())?;
    Ok(HopReport {
        unnoted: passed.unnoted,
        clocks,
        ..hops
    })
}

/// Of each stream its own: they go other ways, and have the same numbers.
fn both(passed: Passed, way: &Way<'_>) -> Result<Vec<HopReport>, String> {
    let (second, first): (Vec<Seen>, Vec<Seen>) =
        passed.seen.into_iter().partition(|of| of.stream() > 0);
    let one = |(stream, seen)| {
        let passed = Passed {
            seen,
            stations: passed.stations.clone(),
            unnoted: passed.unnoted,
        };
        one(passed, way, stream)
    };
    [first, second].into_iter().enumerate().map(one).collect()
}
