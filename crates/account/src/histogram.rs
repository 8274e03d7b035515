//! Histograms that are small enough to be kept for every interval of a long run.

use nicety_model::LatencySummary;
use nicety_model::interval::LatencyHistogram;

/// Buckets of an octave where there is room: values of a bucket differ by less than an eighth.
pub const FINEST: u32 = 8;
/// Most buckets that are kept: with more, buckets become wider.
pub const ROOM: usize = 64;

/// The lower end of the bucket that a value in nanoseconds belongs to.
fn bucket(ns: u64, per_octave: u32) -> u64 {
    let ns = ns.max(1);
    let octave = ns.ilog2();
    let steps = u64::from(per_octave.max(1));
    // In 128 bits: the product may be 8 times the highest octave.
    let step = (u128::from(ns - (1 << octave)) * u128::from(steps)) >> octave;
    lower(octave, step as u64, steps)
}

/// The lower end of step `step` of an octave: the first whole number in it.
fn lower(octave: u32, step: u64, steps: u64) -> u64 {
    let start = 1_u128 << octave;
    let into = (u128::from(step) << octave).div_ceil(u128::from(steps.max(1)));
    u64::try_from(start + into).unwrap_or(u64::MAX)
}

/// The value that a bucket ends before, as far as it has one.
fn upper(from: u64, per_octave: u32) -> u64 {
    let octave = from.max(1).ilog2();
    let steps = u64::from(per_octave.max(1));
    let step = (u128::from(from.max(1) - (1 << octave)) * u128::from(steps)) >> octave;
    lower(octave, step as u64 + 1, steps)
}

/// The histogram of values in nanoseconds, each with its count, in at most [`ROOM`] buckets.
pub fn of(values: impl IntoIterator<Item = (u64, u64)>) -> LatencyHistogram {
    let mut all: Vec<[u64; 2]> = values
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(ns, count)| [bucket(ns, FINEST), count])
        .collect();
    all.sort_unstable();
    let mut histogram = LatencyHistogram {
        per_octave: FINEST,
        buckets: all,
    };
    join(&mut histogram);
    fit(&mut histogram, ROOM);
    histogram
}

/// Adds the counts of buckets that are the same.
fn join(histogram: &mut LatencyHistogram) {
    histogram.buckets.dedup_by(|next, kept| {
        let same = next[0] == kept[0];
        if same {
            kept[1] = kept[1].saturating_add(next[1]);
        }
        same
    });
    if histogram.buckets.is_empty() {
        histogram.per_octave = 0;
    }
}

/// Makes buckets wider until there are at most `room`, or one to an octave.
fn fit(histogram: &mut LatencyHistogram, room: usize) {
    while histogram.buckets.len() > room && histogram.per_octave > 1 {
        widen(histogram, histogram.per_octave / 2);
    }
}

fn widen(histogram: &mut LatencyHistogram, per_octave: u32) {
    for [from, _] in &mut histogram.buckets {
        *from = bucket(*from, per_octave);
    }
    histogram.per_octave = per_octave;
    join(histogram);
}

/// Adds `other` to `all`; the result has the wider buckets of the two.
pub fn merge(all: &mut LatencyHistogram, other: &LatencyHistogram) {
    if other.is_empty() {
        return;
    }
    if all.is_empty() {
        all.clone_from(other);
        return;
    }
    let mut other = other.clone();
    let widest = all.per_octave.min(other.per_octave).max(1);
    for histogram in [&mut *all, &mut other] {
        if histogram.per_octave != widest {
            widen(histogram, widest);
        }
    }
    all.buckets.append(&mut other.buckets);
    all.buckets.sort_unstable();
    join(all);
    fit(all, ROOM);
}

/// Value in nanoseconds below which the share `quantile` of all values lies, evenly spread within its bucket.
pub fn quantile(histogram: &LatencyHistogram, quantile: f64) -> Option<f64> {
    let all: u64 = histogram.buckets.iter().map(|[_, count]| count).sum();
    if all == 0 {
        return None;
    }
    let wanted = quantile.clamp(0.0, 1.0) * all as f64;
    let mut below = 0.0;
    for [from, count] in &histogram.buckets {
        let count = *count as f64;
        if below + count >= wanted {
            let to = upper(*from, histogram.per_octave) as f64;
            let share = ((wanted - below) / count).clamp(0.0, 1.0);
            return Some(*from as f64 + (to - *from as f64) * share);
        }
        below += count;
    }
    None
}

/// Two distributions in one: smallest, largest and mean value are exact, percentiles those of `histogram`, in which
/// both are already.
pub fn summary(
    one: Option<LatencySummary>,
    other: Option<LatencySummary>,
    histogram: &LatencyHistogram,
) -> Option<LatencySummary> {
    let (Some(one), Some(other)) = (one, other) else {
        return one.or(other);
    };
    let samples = one.samples + other.samples;
    let weight = |of: &LatencySummary| of.mean * of.samples as f64;
    let (min, max) = (one.min.min(other.min), one.max.max(other.max));
    let at = |share: f64| quantile(histogram, share).map_or(max, |ns| (ns / 1e3).clamp(min, max));
    Some(LatencySummary {
        load_ratio: None,
        min,
        mean: (weight(&one) + weight(&other)) / samples.max(1) as f64,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max,
        samples,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Latency;

    fn count(of: &LatencyHistogram) -> u64 {
        of.buckets.iter().map(|[_, count]| count).sum()
    }

    #[test]
    fn buckets_are_an_eighth_of_an_octave() {
        let told = of([
            (1000, 1),
            (1023, 2),
            (1024, 3),
            (1151, 4),
            (1152, 5),
            (1, 6),
        ]);
        assert_eq!(told.per_octave, 8);
        assert_eq!(told.buckets, [[1, 6], [960, 3], [1024, 7], [1152, 5]]);
        assert_eq!(of([]), LatencyHistogram::default());
        assert_eq!(of([(u64::MAX, 1)]).buckets.len(), 1);
    }

    #[test]
    fn wide_distributions_keep_their_room() {
        let value = |n: u64| (1 << (n / 64)) | ((n % 64) << (n / 64).saturating_sub(6));
        let wide = of((0..36 * 64).map(|n| (value(n), 1)));
        assert!(
            wide.buckets.len() <= ROOM && wide.per_octave < FINEST,
            "{wide:?}"
        );
        assert_eq!(count(&wide), 36 * 64);
        let text = serde_json::to_string(&wide).unwrap();
        assert!(text.len() < 1600, "{}", text.len());
    }

    #[test]
    fn percentiles_are_near_those_of_all_values() {
        let mut exact = Latency::new().unwrap();
        let values: Vec<i64> = (1..=10_000).map(|n| 900 + n * n / 7).collect();
        values.iter().for_each(|ns| exact.record(*ns));
        let small = exact.histogram();
        let exact = exact.summary().unwrap();
        for (share, exact) in [(0.5, exact.p50), (0.9, exact.p90), (0.99, exact.p99)] {
            let us = quantile(&small, share).unwrap() / 1e3;
            assert!((us / exact - 1.0).abs() < 0.07, "{share}: {us} for {exact}");
        }
    }

    proptest! {
        #[test]
        fn merging_equals_counting_together(
            one in proptest::collection::vec((1_u64..1 << 40, 1_u64..1000), 0..200),
            other in proptest::collection::vec((1_u64..1 << 40, 1_u64..1000), 0..200),
        ) {
            let mut merged = of(one.iter().copied());
            merge(&mut merged, &of(other.iter().copied()));
            let together = of(one.iter().chain(&other).copied());
            prop_assert_eq!(count(&merged), count(&together));
            prop_assert!(merged.buckets.len() <= ROOM);
            prop_assert!(merged.buckets.is_sorted());
            // With the same width they are the same.
            if merged.per_octave == together.per_octave {
                prop_assert_eq!(merged, together);
            } else {
                prop_assert!(merged.per_octave < together.per_octave);
            }
        }

        #[test]
        fn a_value_lies_in_its_bucket(ns in 1_u64..u64::MAX / 4, steps in prop_oneof![Just(1_u32), Just(2), Just(4), Just(8)]) {
            let from = bucket(ns, steps);
            prop_assert!(from <= ns && ns < upper(from, steps));
            // A lower end is in its own bucket, so that buckets can be widened.
            prop_assert_eq!(bucket(from, steps), from);
        }
    }
}
