//! Whether a limit holds, by what passes.

use std::time::Instant;

use nicety_model::BitRate;
use nicety_model::vf::PortCounters;

use super::bits_per_second;
use super::counters::{passed, unwrapped};
use super::look::Eyes;
use crate::cli::vf::LimitArgs;
use crate::exit::Failure;

/// This many times the limit is beyond it.
const BEYOND: f64 = 1.1;
/// From this share of the limit on the limit is what holds the sender.
const NEAR: f64 = 0.8;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Bits per second near the limit and not beyond.
    Holds(f64),
    /// More than the limit.
    NotEnforced(f64),
    /// Less than the limit: it was not needed.
    Untested(f64),
    /// Nobody counts.
    NotCounted,
    /// There is no limit, or nobody wanted to know.
    NotAsked,
}

impl Verdict {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds(_) => "holds",
            Self::NotEnforced(_) => "not-enforced",
            Self::Untested(_) | Self::NotAsked => "untested",
            Self::NotCounted => "not-counted",
        }
    }

    pub fn seen_bps(&self) -> Option<f64> {
        match self {
            Self::Holds(bps) | Self::NotEnforced(bps) | Self::Untested(bps) => Some(*bps),
            Self::NotCounted | Self::NotAsked => None,
        }
    }
}

/// Counts for a while and compares. `burst` is how many bytes may pass at once, beyond the limit: a
/// sender that was still has them all.
pub fn watch(
    eyes: &Eyes,
    args: &LimitArgs,
    limit: BitRate,
    burst: u64,
) -> Result<Verdict, Failure> {
    if limit.0 == 0 || args.verify.is_zero() {
        return Ok(Verdict::NotAsked);
    }
    let first = Instant::now();
    let Some(before) = sent(eyes, args)? else {
        return Ok(Verdict::NotCounted);
    };
    let begin = Instant::now();
    // What passes between the first count and the clock is not of the time measured.
    let lead = begin - first;
    std::thread::sleep(args.verify);
    let after = sent(eyes, args)?;
    let time = begin.elapsed();
    let rate = after.filter(|after| after.source == before.source);
    let rate = rate.and_then(|after| {
        let now = unwrapped(before.tx_bytes, after.tx_bytes, after.byte_bits);
        let sent = bits_per_second(before.tx_bytes, now, time);
        sent.map(|bps| bps * passed(&before, &after))
    });
    let Some(bps) = rate else {
        return Ok(Verdict::NotCounted);
    };
    let burst = bits_per_second(0, burst + limit.bytes_in(lead), time);
    let burst = burst.unwrap_or_default();
    Ok(judge(bps, limit.bps(), burst))
}

fn judge(bps: f64, limit: f64, burst: f64) -> Verdict {
    match bps {
        bps if bps > BEYOND * limit + burst => Verdict::NotEnforced(bps),
        bps if bps >= NEAR * limit => Verdict::Holds(bps),
        bps => Verdict::Untested(bps),
    }
}

/// What was sent so far, where somebody counts.
fn sent(eyes: &Eyes, args: &LimitArgs) -> Result<Option<PortCounters>, Failure> {
    let report = eyes.look(Some(&args.interface))?;
    let counters = match args.vf {
        Some(vf) => (report.nics.into_iter())
            .flat_map(|nic| nic.functions)
            .find(|function| function.vf == vf)
            .and_then(|function| function.counters),
        None => report
            .ports
            .into_iter()
            .next()
            .and_then(|port| port.counters),
    };
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_compared_with_its_limit() {
        assert_eq!(judge(96.0, 100.0, 0.0), Verdict::Holds(96.0));
        assert_eq!(judge(111.0, 100.0, 0.0), Verdict::NotEnforced(111.0));
        assert_eq!(judge(3.0, 100.0, 0.0), Verdict::Untested(3.0));
        // A flood of 1 s behind 64 kbit/s and a bucket of 16 KiB that was full.
        assert_eq!(judge(160e3, 64e3, 131e3), Verdict::Holds(160e3));
        assert_eq!(judge(210e3, 64e3, 131e3), Verdict::NotEnforced(210e3));
    }
}
