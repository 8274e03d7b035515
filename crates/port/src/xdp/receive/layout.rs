//! What `bpf/receive.bpf.c` keeps in its maps, as places of 64-bit words.

use std::ops::Range;

/// The trial's word: the first number that cannot have been sent in its low half, above it the
/// trial's byte, and this bit while frames are counted.
pub(super) const ORDER_ARMED: u64 = 1 << 40;

/// Counts of one CPU.
pub(super) mod cpu {
    pub(crate) const RECEIVED: usize = 0;
    pub(crate) const CORRUPT: usize = 1;
    pub(crate) const FOREIGN: usize = 2;
    pub(crate) const CLOCK_ERRORS: usize = 4;
    pub(crate) const LATENCY_SUM: usize = 5;
    pub(crate) const LATENCY_MAX: usize = 6;
    /// All ones less the smallest.
    pub(crate) const LATENCY_MIN_COMPLEMENT: usize = 7;
    pub(crate) const LATENCY: usize = 16;
    pub(crate) const WORDS: usize = LATENCY + super::BUCKETS;
}

/// Rare events of one stream on one CPU.
pub(super) mod stream {
    pub(crate) const DUPLICATE: usize = 0;
    pub(crate) const IMPOSSIBLE: usize = 1;
    pub(crate) const WORDS: usize = 8;
}

/// Order of one stream in one queue.
pub(super) mod lane {
    pub(crate) const ARRIVALS: usize = 1;
    pub(crate) const REORDERED: usize = 3;
    pub(crate) const EXTENT_MAX: usize = 4;
    pub(crate) const EXTENT_OPEN: usize = 5;
    pub(crate) const RUN: usize = 6;
    pub(crate) const RUNS: usize = 7;
    pub(crate) const RUN_LONGEST: usize = 8;
    pub(crate) const RUN_LOG2: usize = 16;
    pub(crate) const RUN_LOG2_WORDS: usize = 32;
    pub(crate) const WORDS: usize = RUN_LOG2 + RUN_LOG2_WORDS;
}

/// Most jumps a lane remembers.
pub(super) const JUMPS_MAX: u32 = 1 << 14;
/// Bytes of the fill pattern in the program, longer than any frame's.
pub(super) const PATTERN_BYTES: usize = 9024;

/// Latencies below this many ns have a bucket each; every octave above has half as many.
const LINEAR: u64 = 1 << LINEAR_BITS;
const LINEAR_BITS: u32 = 8;
const OCTAVE: u64 = LINEAR / 2;
/// Buckets up to 2^36 ns, more than [`nicety_account::latency::MAX_NS`].
pub(super) const BUCKETS: usize = (LINEAR + (36 - LINEAR_BITS as u64) * OCTAVE) as usize;

/// Latencies in ns that `bucket` counts.
pub(super) fn bucket_range(bucket: usize) -> Range<u64> {
    let bucket = bucket as u64;
    if bucket < LINEAR {
        return bucket..bucket + 1;
    }
    let (octave, step) = ((bucket - LINEAR) / OCTAVE, (bucket - LINEAR) % OCTAVE);
    let width = 2 << octave;
    let start = (OCTAVE + step) * width;
    start..start + width
}

/// The latency that stands for a bucket: its middle, at most 1 in 256 away from any in it.
pub(super) fn bucket_value(bucket: usize) -> u64 {
    let range = bucket_range(bucket);
    (range.start + range.end - 1).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdp::object::{self, btf};

    #[test]
    fn buckets_follow_each_other_and_are_narrow() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let range = bucket_range(bucket);
            assert_eq!(range.start, next, "{bucket}");
            next = range.end;
            let value = bucket_value(bucket);
            for edge in [range.start, range.end - 1] {
                assert!(edge.abs_diff(value) * 256 <= edge, "{bucket}: {value}");
            }
        }
        assert_eq!(next, 1 << 36);
        assert!(next > nicety_account::latency::MAX_NS);
    }

    /// Every place of this file is that of the field of its name, as clang has compiled it.
    #[test]
    fn places_are_those_of_the_program() {
        // Name of the field, and its word.
        type Places = &'static [(&'static str, usize)];
        let Some([receive]) = btf::of("places_are_those_of_the_program", [object::RECEIVE]) else {
            return;
        };
        #[rustfmt::skip]
        let structs: [(&str, usize, Places); 3] = [
            ("cpu_counts", cpu::WORDS, &[
                ("received", cpu::RECEIVED), ("corrupt", cpu::CORRUPT), ("foreign", cpu::FOREIGN),
                ("clock_errors", cpu::CLOCK_ERRORS), ("latency_sum", cpu::LATENCY_SUM),
                ("latency_max", cpu::LATENCY_MAX), ("latency_min_complement", cpu::LATENCY_MIN_COMPLEMENT),
                ("latency", cpu::LATENCY),
            ]),
            ("stream_counts", stream::WORDS, &[("duplicate", stream::DUPLICATE), ("impossible", stream::IMPOSSIBLE)]),
            ("lane", lane::WORDS, &[
                ("arrivals", lane::ARRIVALS), ("reordered", lane::REORDERED), ("extent_max", lane::EXTENT_MAX),
                ("extent_open", lane::EXTENT_OPEN), ("run", lane::RUN), ("runs", lane::RUNS),
                ("run_longest", lane::RUN_LONGEST), ("run_log2", lane::RUN_LOG2),
            ]),
        ];
        for (name, words, places) in structs {
            let layout = receive.layout(name);
            assert_eq!(layout.bytes, words * size_of::<u64>(), "{name}");
            for (field, word) in places {
                let place = layout.place(field);
                assert_eq!(place, Some(word * size_of::<u64>()), "{name}.{field}");
            }
        }
        let jumps = JUMPS_MAX as usize * size_of::<u64>();
        assert_eq!(receive.layout("ring").bytes, jumps);
    }
}
