//! One-way latency of every frame.

use hdrhistogram::Histogram;
use nicety_model::LatencySummary;
use nicety_model::interval::LatencyHistogram;

use crate::{AccountError, histogram};

/// Largest latency told apart, in ns; longer ones count as this long.
pub const MAX_NS: u64 = 60_000_000_000;
/// Significant decimal digits kept.
pub const DIGITS: u8 = 3;

/// Distribution of one-way latencies from 1 ns to 60 s with three significant digits.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
    exact: Exact,
}

/// Exact figures of a distribution, unlike those of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    /// Smallest value in ns; `u64::MAX` when there is none.
    pub min_ns: u64,
    /// Largest value in ns.
    pub max_ns: u64,
    /// Sum of all values in ns.
    pub sum_ns: u128,
    /// Frames that arrived before they were sent, by the clocks.
    pub clock_errors: u64,
}

impl Default for Exact {
    fn default() -> Self {
        Self {
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            clock_errors: 0,
        }
    }
}

impl Exact {
    fn add(&mut self, other: &Self) {
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.clock_errors += other.clock_errors;
    }
}

impl Latency {
    /// An empty distribution; about 220 KB.
    pub fn new() -> Result<Self, AccountError> {
        let histogram =
            Histogram::new_with_bounds(1, MAX_NS, DIGITS).map_err(|_| AccountError::Histogram {
                max_ns: MAX_NS,
                digits: DIGITS,
            })?;
        Ok(Self {
            histogram,
            exact: Exact::default(),
        })
    }

    /// Records a latency in ns. A negative one says that the clocks disagree: it is counted as a
    /// clock error and enters nothing else.
    #[inline]
    pub fn record(&mut self, ns: i64) {
        let Ok(ns) = u64::try_from(ns) else {
            self.exact.clock_errors += 1;
            return;
        };
        let ns = ns.min(MAX_NS);
        self.histogram.saturating_record(ns);
        self.exact.min_ns = self.exact.min_ns.min(ns);
        self.exact.max_ns = self.exact.max_ns.max(ns);
        self.exact.sum_ns += u128::from(ns);
    }

    /// Adds everything another distribution holds.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so adding cannot be refused.
        if self.histogram.add(&other.histogram).is_ok() {
            self.exact.add(&other.exact);
        }
    }

    /// Adds a distribution that was counted elsewhere, such as inside the kernel: values in ns
    /// that stand for their buckets, each with its count, and what is known exactly.
    pub fn add_buckets(&mut self, buckets: impl IntoIterator<Item = (u64, u64)>, exact: &Exact) {
        for (ns, count) in buckets {
            self.histogram.saturating_record_n(ns.min(MAX_NS), count);
        }
        self.exact.add(exact);
    }

    /// Empties the distribution and keeps its memory.
    pub fn reset(&mut self) {
        if !self.histogram.is_empty() {
            self.histogram.reset();
        }
        self.exact = Exact::default();
    }

    /// Frames that arrived before they were sent, by the clocks.
    pub fn clock_errors(&self) -> u64 {
        self.exact.clock_errors
    }

    /// Latencies recorded.
    pub fn samples(&self) -> u64 {
        self.histogram.len()
    }

    /// The distribution in few buckets, to be kept.
    pub fn histogram(&self) -> LatencyHistogram {
        let recorded = self.histogram.iter_recorded();
        histogram::of(recorded.map(|step| (step.value_iterated_to(), step.count_at_value())))
    }

    /// The distribution in µs; nothing if it is empty.
    pub fn summary(&self) -> Option<LatencySummary> {
        let samples = self.samples();
        if samples == 0 {
            return None;
        }
        let us = |ns: u64| ns as f64 / 1000.0;
        // The histogram answers with the upper end of a bucket, which may lie above the maximum.
        let at = |quantile: f64| {
            let ns = self.histogram.value_at_quantile(quantile);
            us(ns.clamp(self.exact.min_ns, self.exact.max_ns))
        };
        Some(LatencySummary {
            load_ratio: None,
            min: us(self.exact.min_ns),
            mean: self.exact.sum_ns as f64 / samples as f64 / 1000.0,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: us(self.exact.max_ns),
            samples,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = i64>) -> Latency {
        let mut latency = Latency::new().unwrap();
        values.into_iter().for_each(|ns| latency.record(ns));
        latency
    }

    #[test]
    fn percentiles_of_a_thousand_microseconds() {
        let summary = of((1..=1000).map(|us| us * 1000)).summary().unwrap();
        assert_eq!(summary.samples, 1000);
        assert_eq!((summary.min, summary.max), (1.0, 1000.0));
        assert!((summary.mean - 500.5).abs() < 1e-9);
        for (value, exact) in [
            (summary.p50, 500.0),
            (summary.p90, 900.0),
            (summary.p99, 990.0),
            (summary.p999, 999.0),
        ] {
            assert!((value / exact - 1.0).abs() <= 0.001, "{value} for {exact}");
        }
    }

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(of([]).summary(), None);
        assert_eq!(of([-1]).summary(), None);
    }

    #[test]
    fn negative_values_are_clock_errors() {
        let latency = of([-5, 7, i64::MIN]);
        assert_eq!(latency.clock_errors(), 2);
        assert_eq!(latency.summary().unwrap().max, 0.007);
    }

    #[test]
    fn a_minute_is_the_longest() {
        let summary = of([i64::MAX, 5]).summary().unwrap();
        assert_eq!(summary.max, 60_000_000.0);
        assert_eq!(summary.p999, 60_000_000.0);
        assert_eq!(summary.min, 0.005);
    }

    #[test]
    fn merging_equals_recording_together() {
        let (a, b) = ([3, 9, -1, 70_000], [2, 1_000_000_000, 5]);
        let mut merged = of(a);
        merged.merge(&of(b));
        let together = of(a.into_iter().chain(b));
        assert_eq!(merged.summary(), together.summary());
        assert_eq!(merged.clock_errors(), together.clock_errors());
    }

    #[test]
    fn what_was_counted_elsewhere_keeps_its_exact_figures() {
        let exact = Exact {
            min_ns: 1_001,
            max_ns: 1_009,
            sum_ns: 3_015,
            clock_errors: 2,
        };
        let mut latency = of([900]);
        latency.add_buckets([(1_004, 3)], &exact);
        let summary = latency.summary().unwrap();
        assert_eq!((summary.min, summary.max, summary.samples), (0.9, 1.009, 4));
        assert!((summary.mean - 3.915 / 4.0).abs() < 1e-9);
        assert!((summary.p50 / 1.004 - 1.0).abs() < 0.001);
        assert_eq!(latency.clock_errors(), 2);
    }

    #[test]
    fn reset_leaves_nothing() {
        let mut latency = of([1, 2, -3]);
        latency.reset();
        assert_eq!(latency.summary(), None);
        assert_eq!(latency.clock_errors(), 0);
        latency.record(8);
        assert_eq!(latency.summary(), of([8]).summary());
    }
}
