//! When an unanswered UDP request is given up: by the measured round trip.
//!
//! The estimator is that of RFC 6298 §2 (Jacobson's, alpha 1/8 and beta 1/4, RTO = SRTT +
//! max(G, 4 RTTVAR), doubled after each time-out until an answer comes, §5.5). Nothing is sent
//! again and a request given up too early costs no more than a late answer, so the constants
//! differ: G is 10 ms, above what a loaded machine's scheduler takes, no floor of 1 s beside it,
//! and a ceiling of 2 s instead of 60 s.

/// Time-out before anything was measured, RFC 6298 §2.1.
const INITIAL_NS: u64 = 1_000_000_000;
/// G of RFC 6298: what a time-out is above the smoothed round trip, at least.
const GRANULARITY_NS: f64 = 10_000_000.0;
const CEILING_NS: u64 = 2_000_000_000;

/// Round-trip estimate of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundTrip {
    smoothed_ns: Option<f64>,
    variation_ns: f64,
    backoff: u32,
}

impl Default for RoundTrip {
    fn default() -> Self {
        Self::new()
    }
}

impl RoundTrip {
    /// Nothing measured yet.
    pub fn new() -> Self {
        Self {
            smoothed_ns: None,
            variation_ns: 0.0,
            backoff: 0,
        }
    }

    /// An answer came `ns` after its request was sent.
    pub fn measured(&mut self, ns: u64) {
        let ns = ns as f64;
        match &mut self.smoothed_ns {
            None => {
                self.smoothed_ns = Some(ns);
                self.variation_ns = ns / 2.0;
            }
            Some(smoothed) => {
                self.variation_ns += ((*smoothed - ns).abs() - self.variation_ns) / 4.0;
                *smoothed += (ns - *smoothed) / 8.0;
            }
        }
        self.backoff = 0;
    }

    /// A request was given up.
    pub fn timed_out(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// How long the next request may stay without an answer, in ns.
    pub fn timeout_ns(&self) -> u64 {
        let base = match self.smoothed_ns {
            None => INITIAL_NS,
            Some(smoothed) => (smoothed + GRANULARITY_NS.max(4.0 * self.variation_ns)) as u64,
        };
        base.saturating_mul(1 << self.backoff).min(CEILING_NS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn follows_rfc_6298() {
        let mut trip = RoundTrip::new();
        assert_eq!(trip.timeout_ns(), 1_000_000_000);
        // First: SRTT = R, RTTVAR = R/2, RTO = R + 2R.
        trip.measured(100_000_000);
        assert_eq!(trip.timeout_ns(), 300_000_000);
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5 ms, SRTT = 7/8 * 100 + 1/8 * 180 = 110 ms.
        trip.measured(180_000_000);
        assert_eq!(trip.timeout_ns(), 340_000_000);
    }

    #[test]
    fn short_round_trips_get_the_granularity_and_silence_backs_off() {
        let mut trip = RoundTrip::new();
        (0..100).for_each(|_| trip.measured(20_000));
        assert_eq!(trip.timeout_ns(), 10_020_000);
        trip.timed_out();
        assert_eq!(trip.timeout_ns(), 20_040_000);
        (0..100).for_each(|_| trip.timed_out());
        assert_eq!(trip.timeout_ns(), CEILING_NS);
        trip.measured(20_000);
        assert_eq!(trip.timeout_ns(), 10_020_000);
    }

    proptest! {
        #[test]
        fn always_between_granularity_and_ceiling(trips in prop::collection::vec(prop::option::of(0_u64..10_000_000_000), 0..50)) {
            let mut trip = RoundTrip::new();
            for sample in trips {
                match sample {
                    Some(ns) => trip.measured(ns),
                    None => trip.timed_out(),
                }
                prop_assert!((10_000_000..=CEILING_NS).contains(&trip.timeout_ns()));
            }
        }

        #[test]
        fn a_steady_round_trip_is_never_given_up_early(ns in 1_u64..500_000_000) {
            let mut trip = RoundTrip::new();
            for _ in 0..200 {
                prop_assert!(trip.timeout_ns() > ns);
                trip.measured(ns);
            }
        }
    }
}
