//! Frames that did not arrive, by their numbers: when that was, and in which flow.

use std::ops::Range;

use nicety_model::interval::{FlowFrames, LossSpan};
use nicety_packet::{Flow, FlowRange};

/// Spans that are kept of an interval.
pub const SPANS: usize = 8;
/// Lost frames that are no further apart than this are told together.
pub const TOGETHER_S: f64 = 0.1;

/// The frames of one stream of an interval.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a> {
    /// Stream.
    pub stream: u8,
    /// Frames that were made, numbered from 0.
    pub made: u64,
    /// A bit for every number that arrived.
    pub arrived: &'a [u64],
    /// When the first of them was sent, in seconds since the Unix epoch.
    pub begun_unix_s: f64,
    /// Frames per second.
    pub rate_fps: f64,
}

impl Numbers<'_> {
    /// Runs of numbers that did not arrive, in order.
    pub fn missing(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, false)?;
            let end = self.next(start, true).unwrap_or(self.made);
            at = end;
            Some(start..end)
        })
    }

    /// The first number from `at` on that arrived, or did not.
    fn next(&self, mut at: u64, arrived: bool) -> Option<u64> {
        while at < self.made {
            let word = self.arrived.get((at / 64) as usize).copied().unwrap_or(0);
            let word = if arrived { word } else { !word };
            let rest = word >> (at % 64);
            if rest != 0 {
                let found = at + u64::from(rest.trailing_zeros());
                return (found < self.made).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    fn time(&self, number: u64) -> f64 {
        self.begun_unix_s + number as f64 / self.rate_fps.max(f64::MIN_POSITIVE)
    }
}

/// When frames of a stream were lost, the earliest [`SPANS`].
pub fn spans(of: &Numbers<'_>) -> Vec<LossSpan> {
    let apart = (of.rate_fps * TOGETHER_S) as u64;
    let mut all: Vec<LossSpan> = Vec::new();
    let mut end = 0;
    for run in of.missing() {
        let frames = run.end - run.start;
        let seconds = |from: u64| (run.end - 1 - from) as f64 / of.rate_fps.max(f64::MIN_POSITIVE);
        let near = run.start - end <= apart;
        if let Some(last) = all.last_mut().filter(|_| near) {
            last.frames += frames;
            last.seconds = seconds(last.first);
        } else if all.len() == SPANS {
            break;
        } else {
            all.push(LossSpan {
                at_unix_s: of.time(run.start),
                seconds: seconds(run.start),
                frames,
                stream: of.stream,
                first: run.start,
            });
        }
        end = run.end;
    }
    all
}

/// Frames of every flow of both directions, over several intervals.
#[derive(Debug, Clone)]
pub struct Flows {
    streams: Vec<(FlowRange, Vec<[u64; 2]>)>,
}

impl Flows {
    /// None yet; `ranges` are those of the streams, by number.
    pub fn new(ranges: impl IntoIterator<Item = FlowRange>) -> Self {
        let streams = ranges.into_iter();
        Self {
            streams: streams
                .map(|range| (range, vec![[0; 2]; range.count() as usize]))
                .collect(),
        }
    }

    /// Counts the frames of a stream; one that is not known is left out.
    pub fn add(&mut self, of: &Numbers<'_>) {
        let Some((range, counts)) = self.streams.get_mut(usize::from(of.stream)) else {
            return;
        };
        let flows = u64::from(range.count());
        for (flow, [sent, _]) in counts.iter_mut().enumerate() {
            *sent += (of.made + flows - 1 - flow as u64) / flows;
        }
        for number in of.missing().flatten() {
            // The number of a frame has 32 bits, and its flow follows from these.
            let flow = u64::from(number as u32) % flows;
            counts[flow as usize][1] += 1;
        }
    }

    /// Adds what another interval counted.
    pub fn merge(&mut self, other: &Self) {
        for ((_, all), (_, counts)) in self.streams.iter_mut().zip(&other.streams) {
            for (all, count) in all.iter_mut().zip(counts) {
                all[0] += count[0];
                all[1] += count[1];
            }
        }
    }

    /// All flows, unless they are more than `most`.
    pub fn all(&self, most: usize) -> Vec<FlowFrames> {
        match self.count() {
            2.. if self.count() <= most => self.each().collect(),
            _ => Vec::new(),
        }
    }

    /// The flows that lost most, at most so many, and how many lost any.
    pub fn worst(&self, most: usize) -> (Vec<FlowFrames>, u64) {
        if self.count() < 2 {
            return (Vec::new(), 0);
        }
        let mut lossy: Vec<FlowFrames> = self.each().filter(|flow| flow.lost > 0).collect();
        let count = lossy.len() as u64;
        lossy.sort_by_key(|flow| std::cmp::Reverse(flow.lost));
        lossy.truncate(most);
        (lossy, count)
    }

    fn count(&self) -> usize {
        self.streams.iter().map(|(_, counts)| counts.len()).sum()
    }

    fn each(&self) -> impl Iterator<Item = FlowFrames> + '_ {
        self.streams
            .iter()
            .zip(0_u8..)
            .flat_map(|((range, counts), stream)| {
                counts.iter().zip(0_u32..).map(move |([sent, lost], flow)| {
                    let Flow {
                        source,
                        destination,
                        source_port,
                        destination_port,
                    } = range.flow(flow);
                    FlowFrames {
                        stream,
                        flow,
                        source: format!("{source}:{source_port}"),
                        destination: format!("{destination}:{destination_port}"),
                        sent: *sent,
                        lost: *lost,
                    }
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use nicety_packet::Side;
    use proptest::prelude::*;

    use super::*;

    fn numbers(arrived: &[u64], made: u64) -> Numbers<'_> {
        Numbers {
            stream: 0,
            made,
            arrived,
            begun_unix_s: 100.0,
            rate_fps: 1000.0,
        }
    }

    fn words(made: u64, lost: &[u64]) -> Vec<u64> {
        let mut words = vec![u64::MAX; made.div_ceil(64) as usize];
        for number in lost {
            words[(number / 64) as usize] &= !(1 << (number % 64));
        }
        words
    }

    #[test]
    fn losses_close_together_are_one_span() {
        let arrived = words(5000, &[70, 71, 150, 1000, 4999]);
        let told = spans(&numbers(&arrived, 5000));
        let of = |at, seconds, frames, first| LossSpan {
            at_unix_s: at,
            seconds,
            frames,
            stream: 0,
            first,
        };
        assert_eq!(
            told,
            [
                of(100.07, 0.08, 3, 70),
                of(101.0, 0.0, 1, 1000),
                of(104.999, 0.0, 1, 4999)
            ]
        );
        // What never came at all is one span to the end.
        let told = spans(&numbers(&[], 130));
        assert_eq!((told.len(), told[0].frames, told[0].first), (1, 130, 0));
        assert_eq!(spans(&numbers(&arrived, 70)), []);
    }

    #[test]
    fn only_the_first_spans_are_kept() {
        let lost: Vec<u64> = (0..20).map(|n| n * 200).collect();
        let arrived = words(4000, &lost);
        let told = spans(&numbers(&arrived, 4000));
        assert_eq!((told.len(), told[7].first), (SPANS, 1400));
    }

    #[test]
    fn flows_take_turns() {
        let range = |side| FlowRange::new(3, side).unwrap();
        let mut flows = Flows::new([range(Side::A), range(Side::B)]);
        let arrived = words(10, &[1, 4, 9]);
        flows.add(&numbers(&arrived, 10));
        let mut more = Flows::new([range(Side::A), range(Side::B)]);
        more.add(&Numbers {
            stream: 1,
            ..numbers(&[], 2)
        });
        flows.merge(&more);
        let told: Vec<_> = flows
            .all(6)
            .iter()
            .map(|f| (f.stream, f.flow, f.sent, f.lost))
            .collect();
        assert_eq!(
            told,
            [
                (0, 0, 4, 1),
                (0, 1, 3, 2),
                (0, 2, 3, 0),
                (1, 0, 1, 1),
                (1, 1, 1, 1),
                (1, 2, 0, 0)
            ]
        );
        assert_eq!(flows.all(5), []);
        let (worst, lossy) = flows.worst(2);
        assert_eq!(
            (worst[0].flow, worst[0].lost, worst.len(), lossy),
            (1, 2, 2, 4)
        );
        assert_eq!(worst[0].source, "198.18.0.2:49184");
        let single = Flows::new([FlowRange::single(Side::A)]);
        assert!(single.all(9).is_empty() && single.worst(9).0.is_empty());
    }

    proptest! {
        #[test]
        fn every_lost_number_is_in_one_run(lost in proptest::collection::btree_set(0_u64..700, 0..200), made in 0_u64..700) {
            let lost: Vec<u64> = lost.into_iter().collect();
            let arrived = words(700, &lost);
            let found: Vec<u64> = numbers(&arrived, made).missing().flatten().collect();
            let expected: Vec<u64> = lost.into_iter().filter(|number| *number < made).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
