//! Probes that NICs stamped: matches their stamps and computes the latency.

mod clocks;

use std::collections::BTreeMap;

pub use clocks::{Offset, OffsetSample, Reading};
use nicety_model::{HardwareProbes, LatencySummary};

use crate::{AccountError, Latency};

/// Stamps of the probes of one direction, by their number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps {
    /// Those sent, with the sending NIC's stamp where it made one.
    pub sent: BTreeMap<u16, Option<i64>>,
    /// Those that arrived, with the receiving NIC's stamp where it made one.
    pub arrived: BTreeMap<u16, Option<i64>>,
}

impl Stamps {
    /// Notes that a probe was sent.
    pub fn sent(&mut self, number: u16) {
        self.sent.entry(number).or_default();
    }

    /// Notes the sending NIC's stamp of a probe.
    pub fn left(&mut self, number: u16, ns: i64) {
        self.sent.entry(number).or_default().get_or_insert(ns);
    }

    /// Notes that a probe arrived; of copies the first one counts.
    pub fn arrived(&mut self, number: u16, ns: Option<i64>) {
        self.arrived.entry(number).or_insert(ns);
    }
}

/// Counts and latency over all directions.
#[derive(Debug)]
pub struct ProbeTotals {
    counts: HardwareProbes,
    latency: Latency,
}

impl ProbeTotals {
    /// None yet.
    ///
    /// # Errors
    /// When there is no memory for the distribution.
    pub fn new() -> Result<Self, AccountError> {
        Ok(Self {
            counts: HardwareProbes::default(),
            latency: Latency::new()?,
        })
    }

    /// Adds a direction; `ahead` is how far the receiving NIC's clock is ahead of the sending one's
    /// when that shows a time. Only numbers that were sent count.
    pub fn add(&mut self, stamps: &Stamps, ahead: impl Fn(i64) -> i64) {
        for (number, left) in &stamps.sent {
            self.counts.sent += 1;
            match (left, stamps.arrived.get(number)) {
                (_, None) => self.counts.lost += 1,
                (Some(left), Some(Some(arrived))) => {
                    self.latency.record(arrived - left - ahead(*left));
                }
                _ => self.counts.not_stamped += 1,
            }
        }
        self.counts.clock_errors = self.latency.clock_errors();
        self.counts.stamped = self.latency.samples();
    }

    /// Outcome of the probes.
    pub fn counts(&self) -> HardwareProbes {
        self.counts
    }

    /// Their latency; none where no probe has both stamps.
    pub fn latency(&self) -> Option<LatencySummary> {
        self.latency.summary()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever becomes of each probe, it is counted once, and the latencies are those sent.
        #[test]
        fn every_probe_is_counted_once(
            fates in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<bool>(), 0_i64..1_000_000), 0..200),
            offset in -(1_i64 << 60)..1 << 60,
        ) {
            let mut stamps = Stamps::default();
            let mut expected = Latency::new().unwrap();
            let (mut lost, mut bare) = (0, 0);
            for (number, (arrives, left, seen, latency)) in fates.iter().enumerate() {
                let (number, at) = (number as u16, number as i64 * 1000);
                stamps.sent(number);
                if *left {
                    stamps.left(number, at);
                }
                match (arrives, left, seen) {
                    (false, ..) => lost += 1,
                    (_, true, true) => expected.record(*latency),
                    _ => bare += 1,
                }
                if *arrives {
                    stamps.arrived(number, seen.then_some(at + offset + latency));
                    // A copy, later.
                    stamps.arrived(number, Some(i64::MAX));
                }
            }
            // Another nicety's, or one of an earlier trial.
            stamps.arrived(60_000, Some(1));
            let mut probes = ProbeTotals::new().unwrap();
            probes.add(&stamps, |_| offset);
            let counts = probes.counts();
            prop_assert_eq!(counts.sent, fates.len() as u64);
            prop_assert_eq!((counts.lost, counts.not_stamped, counts.clock_errors), (lost, bare, 0));
            prop_assert_eq!(counts.sent, counts.stamped + counts.lost + counts.not_stamped);
            prop_assert_eq!(probes.latency(), expected.summary());
        }
    }

    #[test]
    fn clocks_that_disagree_are_counted() {
        let mut stamps = Stamps::default();
        for number in 0..3 {
            stamps.sent(number);
            stamps.left(number, 100);
            stamps.arrived(number, Some(110));
        }
        let mut probes = ProbeTotals::new().unwrap();
        probes.add(&stamps, |_| 11);
        assert_eq!(probes.counts().clock_errors, 3);
        assert_eq!((probes.counts().stamped, probes.latency()), (0, None));
    }
}
