//! Whether a limit holds, from the traffic that passes.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_model::vf::PortCounters;

use crate::port_counters::{bits_per_second, forwarded_ratio, unwrapped};

/// This many times the limit is beyond it.
const BEYOND: f64 = 1.1;
/// From this share of the limit on the limit is what holds the sender.
const NEAR: f64 = 0.8;

/// Observation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Bits per second near the limit and not beyond.
    Holds(f64),
    /// More than the limit.
    NotEnforced(f64),
    /// Less than the limit: it was not needed.
    Untested(f64),
    /// No counter.
    NotCounted,
    /// No limit, or no test requested.
    NotAsked,
}

/// Counters of a port before and after it was watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Before; none without a counter.
    pub before: PortCounters,
    /// After; none without a counter.
    pub after: Option<PortCounters>,
    /// Time between both.
    pub time: Duration,
    /// How long before that time the first count may have been.
    pub lead: Duration,
}

impl Verdict {
    /// As JSON has it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds(_) => "holds",
            Self::NotEnforced(_) => "not-enforced",
            Self::Untested(_) | Self::NotAsked => "untested",
            Self::NotCounted => "not-counted",
        }
    }

    /// Observed rate in bits per second; none without a counter.
    pub fn seen_bps(&self) -> Option<f64> {
        match self {
            Self::Holds(bps) | Self::NotEnforced(bps) | Self::Untested(bps) => Some(*bps),
            Self::NotCounted | Self::NotAsked => None,
        }
    }
}

impl Watched {
    /// Compares what was sent with the limit. `burst` is how many bytes may pass at once, beyond the limit: a
    /// sender that was still has them all.
    pub fn judge(&self, limit: BitRate, burst: u64) -> Verdict {
        let before = &self.before;
        let after = self.after.as_ref();
        let rate = after.filter(|after| after.source == before.source);
        let rate = rate.and_then(|after| {
            let now = unwrapped(before.tx_bytes, after.tx_bytes, after.byte_bits);
            let sent = bits_per_second(before.tx_bytes, now, self.time);
            sent.map(|bps| bps * forwarded_ratio(before, after))
        });
        let Some(bps) = rate else {
            return Verdict::NotCounted;
        };
        // What passes between the first count and the clock is not of the time measured.
        let burst = bits_per_second(0, burst + limit.bytes_in(self.lead), self.time);
        judge(bps, limit.bps(), burst.unwrap_or_default())
    }
}

fn judge(bps: f64, limit: f64, burst: f64) -> Verdict {
    match bps {
        bps if bps > BEYOND * limit + burst => Verdict::NotEnforced(bps),
        bps if bps >= NEAR * limit => Verdict::Holds(bps),
        bps => Verdict::Untested(bps),
    }
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

    #[test]
    fn counters_of_somebody_else_say_nothing() {
        let counters = |source: &str, tx_bytes| PortCounters {
            source: source.to_owned(),
            tx_bytes,
            ..PortCounters::default()
        };
        let watched = |after| Watched {
            before: counters("limiter", 1000),
            after,
            time: Duration::from_secs(1),
            lead: Duration::ZERO,
        };
        let judged = |after| watched(after).judge(BitRate(8000), 0);
        assert_eq!(
            judged(Some(counters("limiter", 2000))),
            Verdict::Holds(8000.0)
        );
        assert_eq!(
            judged(Some(counters("interface", 2000))),
            Verdict::NotCounted
        );
        assert_eq!(judged(None), Verdict::NotCounted);
    }
}
