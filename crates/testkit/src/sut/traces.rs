//! Recorded gaps of a thread that spins on one CPU of a virtual machine with two: what a path on it does not get.

use std::sync::LazyLock;

/// Length of every record in seconds.
pub const TRACE_S: f64 = 30.0;

/// Gaps of 0.1 ms and more, in seconds: when each began, and its length. In order of time.
pub type Gaps = &'static [(f64, f64)];

/// Linux 6.18: at a busy and at a calm hour, and beside two compilers at nice 0 with the thread at SCHED_FIFO and at
/// nice −20.
pub(super) fn traces() -> [Gaps; 4] {
    static TRACES: LazyLock<[Vec<(f64, f64)>; 4]> = LazyLock::new(|| {
        [
            include_str!("../../data/stalls/idle-vm-1.csv"),
            include_str!("../../data/stalls/idle-vm-2-calm.csv"),
            include_str!("../../data/stalls/beside-two-compilers-fifo.csv"),
            include_str!("../../data/stalls/beside-two-compilers-nice-20.csv"),
        ]
        .map(|text| text.lines().filter_map(gap).collect())
    });
    TRACES.each_ref().map(Vec::as_slice)
}

/// A line: beginning and length in microseconds.
fn gap(line: &str) -> Option<(f64, f64)> {
    let (start, length) = line.split_once(',')?;
    Some((
        start.parse::<f64>().ok()? * 1e-6,
        length.parse::<f64>().ok()? * 1e-6,
    ))
}

/// The parts of the gaps that lie in `from..to`, seconds since the record began, which is repeated for ever.
pub(super) fn within(gaps: Gaps, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> {
    let turn = (from / TRACE_S).floor() * TRACE_S;
    // A gap that began in the turn before may reach into this one.
    [turn - TRACE_S, turn, turn + TRACE_S]
        .into_iter()
        .flat_map(move |base| {
            let (from, to) = (from - base, to - base);
            let first = gaps.partition_point(|(start, _)| *start < from - LONGEST_S);
            let near = gaps[first..]
                .iter()
                .take_while(move |(start, _)| *start < to);
            let clipped =
                near.map(move |(start, length)| (start.max(from), (start + length).min(to)));
            clipped
                .filter(|(start, end)| start < end)
                .map(move |(start, end)| (start + base, end + base))
        })
}

/// No gap of the records is longer.
const LONGEST_S: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_in_order_and_repeated() {
        for (place, gaps) in traces().into_iter().enumerate() {
            assert!(gaps.len() > 100, "{place}");
            assert!(
                gaps.windows(2)
                    .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0 + 1e-5),
                "{place}"
            );
            assert!(gaps.iter().all(|gap| gap.1 < LONGEST_S), "{place}");
            let sum = |from: f64| {
                within(gaps, from, from + 5.0)
                    .map(|(a, b)| b - a)
                    .sum::<f64>()
            };
            assert!((sum(3.0) - sum(63.0)).abs() < 1e-9, "{place}");
        }
    }
}
