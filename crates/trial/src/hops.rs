//! How long frames were where, in trials that look for it.

use nicety_account::hops::join;
use nicety_fate::{Passed, Refusal};
use nicety_model::note::TrialNote;
use nicety_model::{FateReport, TrialRecord};

/// Puts what was seen into the record, or says why it was not. `sender` is the port that sends.
pub(crate) fn add(record: &mut TrialRecord, passed: Result<Passed, Refusal>, sender: &str) {
    let joined = passed.map_err(|why| why.to_string()).and_then(|passed| {
        let unnoted = passed.unnoted;
        let hops = join(passed.seen, &passed.stations, &format!("sent at {sender}"));
        let hops = hops.map_err(|error| error.to_string())?;
        Ok((hops, unnoted))
    });
    let (mut hops, unnoted) = match joined {
        Ok(joined) => joined,
        Err(why) => {
            record.notes.push(TrialNote::FatesUnknown { why }.into());
            return;
        }
    };
    hops.unnoted = unnoted;
    let mean = record.latency_us.map(|latency| latency.mean * 1e3);
    hops.all_mean_ns = mean.map(|ns| ns.round().max(0.0) as u64);
    record.fate = Some(FateReport {
        hops: Some(hops),
        ..FateReport::default()
    });
}
