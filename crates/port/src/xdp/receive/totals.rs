//! From the words the program left behind to the counts of a trial.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use nicety_account::{Exact, Latency, Runs, StreamTotals};
use nicety_model::{BurstLengths, FrameCounts, StationCounts, StreamCounts};

use super::layout::{self, cpu, lane, stream};

/// What was judged with less than full knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Judged {
    /// Most lanes in which frames of one stream arrived.
    pub(super) lanes: usize,
    /// Frames whose reordering extent is only known to be at least what was counted.
    pub(super) extent_open: u64,
}

pub(super) fn get(words: &[AtomicU64], at: usize) -> u64 {
    words.get(at).map_or(0, |word| word.load(Ordering::Relaxed))
}

/// Sum of one word over all records of a table.
pub(super) fn sum(table: &[AtomicU64], record_words: usize, at: usize) -> u64 {
    table
        .chunks_exact(record_words)
        .map(|record| get(record, at))
        .sum()
}

/// Counts of one stream from its bits, its lanes and its rare events on all CPUs. `limit` is the
/// first number that was refused on arrival.
pub(super) fn stream_counts<'a>(
    totals: &StreamTotals,
    limit: u64,
    seen: &[AtomicU64],
    lanes: &[AtomicU64],
    rare: impl Iterator<Item = &'a [AtomicU64]> + Clone,
    judged: &mut Judged,
) -> StreamCounts {
    let bits = sequence(totals.sent, limit, seen);
    let mut reorder = BurstLengths::default();
    let (mut reordered, mut extent_max, mut used) = (0, 0, 0);
    for words in lanes.chunks_exact(lane::WORDS) {
        used += usize::from(get(words, lane::ARRIVALS) > 0);
        reordered += get(words, lane::REORDERED);
        extent_max = extent_max.max(get(words, lane::EXTENT_MAX));
        judged.extent_open += get(words, lane::EXTENT_OPEN);
        add_runs(&mut reorder, words);
    }
    judged.lanes = judged.lanes.max(used);
    let of = |at| rare.clone().map(|words| get(words, at)).sum::<u64>();
    StreamCounts {
        stream: totals.stream,
        frames: FrameCounts {
            intended: totals.intended,
            sent: totals.sent,
            received: bits.received,
            lost: totals.sent - bits.received,
            duplicate: of(stream::DUPLICATE),
            reordered: reordered.min(bits.received),
            corrupt: of(stream::IMPOSSIBLE) + bits.never_sent,
            foreign: 0,
        },
        loss_bursts: bits.loss,
        reorder_bursts: reorder,
        reorder_extent_max: extent_max,
        stations: Vec::new(),
        sizes: Vec::new(),
    }
}

struct Bits {
    received: u64,
    never_sent: u64,
    loss: BurstLengths,
}

/// Walks the bits of all numbers below `limit`.
fn sequence(sent: u64, limit: u64, seen: &[AtomicU64]) -> Bits {
    let (mut received, mut all) = (0, 0);
    let mut loss = Runs::default();
    let words = limit.div_ceil(u64::from(u64::BITS)) as usize;
    for (n, word) in seen.iter().take(words).enumerate() {
        let word = word.load(Ordering::Relaxed);
        all += u64::from(word.count_ones());
        let bits = sent.saturating_sub(n as u64 * 64).min(64) as u32;
        if bits > 0 {
            let mask = u64::MAX >> (64 - bits);
            received += u64::from((word & mask).count_ones());
            loss.walk_zeros(word, bits);
        }
    }
    loss.extend(sent.saturating_sub(words as u64 * 64));
    Bits {
        received,
        never_sent: all - received,
        loss: loss.take(),
    }
}

/// What each of several pairs of stations sent and received, of `sent` frames in which they took
/// turns; nothing of a single pair.
pub(super) fn stations(sent: u64, stations: u32, seen: &[AtomicU64]) -> Vec<StationCounts> {
    if stations < 2 {
        return Vec::new();
    }
    let mut counts: Vec<StationCounts> = StationCounts::shares(sent, stations)
        .map(|sent| StationCounts {
            sent,
            received: sent,
        })
        .collect();
    for first in (0..sent).step_by(64) {
        let bits = (sent - first).min(64) as u32;
        let mut lost = !get(seen, (first / 64) as usize) & (u64::MAX >> (64 - bits));
        while lost != 0 {
            let number = first + u64::from(lost.trailing_zeros());
            // The number of a frame has 32 bits; no trial is that long.
            let station = (number % u64::from(stations)) as usize;
            counts[station].received -= 1;
            lost &= lost - 1;
        }
    }
    counts
}

/// Bits of `numbers` that are not set.
pub(super) fn missing(seen: &[AtomicU64], numbers: Range<u64>) -> u64 {
    let words = numbers.start / 64..numbers.end.div_ceil(64);
    let arrived = |n: u64| {
        let from = numbers.start.saturating_sub(n * 64).min(63);
        let to = (numbers.end - n * 64).min(64);
        let mask = (u64::MAX << from) & (u64::MAX >> (64 - to));
        u64::from((get(seen, n as usize) & mask).count_ones())
    };
    let count = numbers.end.saturating_sub(numbers.start);
    count - words.map(arrived).sum::<u64>().min(count)
}

/// Adds the runs of one lane, the one still open included.
fn add_runs(sum: &mut BurstLengths, words: &[AtomicU64]) {
    sum.record(get(words, lane::RUN));
    sum.bursts += get(words, lane::RUNS);
    sum.longest = sum.longest.max(get(words, lane::RUN_LONGEST));
    for k in 0..lane::RUN_LOG2_WORDS {
        let runs = get(words, lane::RUN_LOG2 + k);
        if runs > 0 {
            if sum.by_power_of_two.len() <= k {
                sum.by_power_of_two.resize(k + 1, 0);
            }
            sum.by_power_of_two[k] += runs;
        }
    }
}

/// Adds the latencies counted by every CPU.
pub(super) fn add_latency(cpus: &[AtomicU64], all: &mut Latency) {
    for words in cpus.chunks_exact(cpu::WORDS) {
        let exact = Exact {
            min_ns: u64::MAX - get(words, cpu::LATENCY_MIN_COMPLEMENT),
            max_ns: get(words, cpu::LATENCY_MAX),
            sum_ns: u128::from(get(words, cpu::LATENCY_SUM)),
            clock_errors: get(words, cpu::CLOCK_ERRORS),
        };
        let buckets = (0..layout::BUCKETS)
            .map(|n| (layout::bucket_value(n), get(words, cpu::LATENCY + n)))
            .filter(|(_, count)| *count > 0);
        all.add_buckets(buckets, &exact);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_lose_their_own_frames() {
        // Lost: 5, 64 + 3 and what was sent beyond the bits, 128 and 129.
        let seen = [!(1 << 5), !(1 << 3)].map(AtomicU64::new);
        let counts = stations(130, 3, &seen);
        let pairs: Vec<_> = counts.iter().map(|c| (c.sent, c.received)).collect();
        assert_eq!(pairs, [(44, 43), (43, 42), (43, 41)]);
        assert_eq!(stations(130, 1, &seen), []);
    }

    #[test]
    fn missing_numbers_are_counted_across_words() {
        let seen = [u64::MAX, !(1 << 5), 0, 1].map(AtomicU64::new);
        for (numbers, expected) in [
            (0..0, 0),
            (0..64, 0),
            (60..70, 1),
            (69..70, 1),
            (70..128, 0),
            (64..192, 65),
            (100..193, 64),
            (193..194, 1),
            // Beyond the bits nothing has arrived.
            (250..300, 50),
        ] {
            assert_eq!(missing(&seen, numbers.clone()), expected, "{numbers:?}");
        }
    }
}
