//! How long frames were where, in trials that look for it.

use nicety_account::hops::{Seen, join};
use nicety_fate::{Passed, Refusal};
use nicety_model::fate::{Way, WayFate};
use nicety_model::hop::HopReport;
use nicety_model::note::TrialNote;
use nicety_model::{FateReport, TrialRecord};

/// Puts what was seen into the record, or says why it was not. `ports` are A and B; frames of stream 0 leave A, those of
/// stream 1 leave B.
pub(crate) fn add(record: &mut TrialRecord, passed: Result<Passed, Refusal>, ports: [&str; 2]) {
    let joined =
        passed
            .map_err(|why| why.to_string())
            .and_then(|passed| match record.streams.len() {
                2.. => both(passed, ports).map(|hops| (None, hops)),
                _ => one(passed, ports[0]).map(|hops| (Some(hops), Vec::new())),
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
    let ways = ways.into_iter().zip(frames).zip(Way::BOTH);
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

fn one(passed: Passed, sender: &str) -> Result<HopReport, String> {
    let hops = join(passed.seen, &passed.stations, &format!("sent at {sender}"));
    let hops = hops.map_err(|error| error.to_string())?;
    Ok(HopReport {
        unnoted: passed.unnoted,
        ..hops
    })
}

/// Of each stream its own: they go other ways, and have the same numbers.
fn both(passed: Passed, ports: [&str; 2]) -> Result<Vec<HopReport>, String> {
    let (second, first): (Vec<Seen>, Vec<Seen>) =
        passed.seen.into_iter().partition(|of| of.stream() > 0);
    let ways = [first, second].into_iter().zip(ports);
    let one = |(seen, port)| {
        let passed = Passed {
            seen,
            stations: passed.stations.clone(),
            unnoted: passed.unnoted,
        };
        one(passed, port)
    };
    ways.map(one).collect()
}
