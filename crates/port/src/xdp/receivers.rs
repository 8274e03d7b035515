//! The receive programs of a trial, and what they and the senders say together. Shared by the
//! engines that count this way, whatever they send with.

use std::ops::Range;
use std::time::{Duration, Instant};

use nicety_account::{Latency, StreamTotals};
use nicety_model::StreamCounts;

use super::receive::Receiver;
use crate::engine::{Arrivals, EngineReport, Part, Slots, TrialOrder, WorkerUse, XdpCounts};
use crate::error::PortError;
use crate::sending::{Sending, reports, start_spread_s};
use crate::slots::{Stretch, together};

/// How often the receivers are asked for new frames while the path drains.
const LOOK: Duration = Duration::from_millis(1);

/// The receiver of stream 0, and that of stream 1 when there are two directions.
#[derive(Debug, Default)]
pub(crate) struct Receivers {
    receivers: Vec<Receiver>,
    /// Numbers that the last trial gave to frames of each stream, and those of frames that were not sent.
    made: Vec<(u64, u64)>,
}

impl Receivers {
    /// Takes the receiver of the next stream.
    pub(crate) fn push(&mut self, receiver: Receiver) {
        self.receivers.push(receiver);
    }

    /// Directions with load.
    pub(crate) fn directions(&self) -> usize {
        self.receivers.len()
    }

    /// How the programs run; both ways if they differ.
    pub(crate) fn mode(&self) -> String {
        let modes: Vec<_> = self.receivers.iter().map(Receiver::mode).collect();
        match modes.as_slice() {
            [a, b] if a != b => format!("{a}; {b}"),
            [mode, ..] => (*mode).to_owned(),
            [] => String::new(),
        }
    }

    /// Starts the account of a trial.
    pub(crate) fn reset(&mut self, order: &TrialOrder) -> Result<(), PortError> {
        let mut receivers = self.receivers.iter_mut();
        receivers.try_for_each(|receiver| receiver.reset(order.trial, order.frames()))
    }

    /// Waits for frames under way.
    pub(crate) fn drain(&self, order: &TrialOrder) -> Result<(), PortError> {
        let start = Instant::now();
        let count = || self.receivers.iter().map(Receiver::received_so_far).sum();
        let (mut seen, mut changed): (u64, _) = (count(), start);
        while changed.elapsed() < order.drain_quiet && start.elapsed() < order.drain_max {
            std::thread::sleep(LOOK);
            let now = count();
            if now != seen {
                (seen, changed) = (now, Instant::now());
            }
        }
        self.receivers.iter().try_for_each(Receiver::check_up)
    }

    /// What became of those frames of the last trial whose numbers `numbers` names, by stream.
    pub(crate) fn part(&self, numbers: impl Fn(usize) -> Option<Vec<Range<u64>>>) -> Option<Part> {
        let mut part = Part::default();
        for (stream, receiver) in self.receivers.iter().enumerate() {
            for range in numbers(stream)? {
                part.sent += range.end - range.start;
                part.lost += receiver.missing(range);
            }
        }
        Some(part)
    }

    /// Which numbers of the last trial arrived, by stream.
    pub(crate) fn arrivals(&self) -> Vec<Arrivals> {
        let one = |(receiver, (made, given_up)): (&Receiver, &(u64, u64))| Arrivals {
            made: *made,
            given_up: *given_up,
            words: receiver.arrived(*made),
        };
        self.receivers.iter().zip(&self.made).map(one).collect()
    }

    /// What became of the frames of the last trial, see [`crate::Engine::slots`]. `numbers` names, by
    /// stream, the first slot and the numbers of the frames made in it and those after it.
    pub(crate) fn slots(
        &self,
        numbers: impl Fn(usize) -> Option<(u64, Vec<Range<u64>>)>,
    ) -> Option<Slots> {
        let stretch = |(stream, receiver): (usize, &Receiver)| {
            let (first, numbers) = numbers(stream)?;
            let part = |range: Range<u64>| Part {
                sent: range.end - range.start,
                lost: receiver.missing(range),
            };
            Some(Stretch {
                first,
                parts: numbers.into_iter().map(part).collect(),
            })
        };
        let stretches: Option<Vec<_>> = self.receivers.iter().enumerate().map(stretch).collect();
        together(&stretches?)
    }

    /// Closes the books: `sendings` in the order of the streams. `interface` is named should
    /// they not be closed.
    pub(crate) fn report(
        &mut self,
        sendings: &[Sending],
        workers: Vec<WorkerUse>,
        order: &TrialOrder,
        interface: &str,
    ) -> Result<EngineReport, PortError> {
        let mut streams: Vec<StreamCounts> = Vec::new();
        let mut latency = Latency::new().map_err(|source| PortError::new(interface, source))?;
        self.made.clear();
        for (receiver, sending) in self.receivers.iter_mut().zip(sendings) {
            let given_up = sending.pacing.refused;
            self.made.push((sending.sent + given_up, given_up));
            let (counts, seen) = receiver.finish(&[StreamTotals {
                stream: sending.stream,
                intended: order.frames(),
                sent: sending.sent + given_up,
            }])?;
            streams.extend(counts.into_iter().map(|of| without(of, given_up)));
            latency.merge(&seen);
        }
        Ok(EngineReport {
            senders: reports(sendings, order.frames()),
            streams,
            latency: latency.summary(),
            histogram: latency.histogram(),
            // Both ends read the monotonic clock.
            clock_stepped: false,
            // The receiving program has no ring that could be full.
            tester_drops: 0,
            xdp: XdpCounts {
                refused_twice: false,
                assumed_dropped: self
                    .receivers
                    .iter()
                    .map(Receiver::counts_assumed_dropped)
                    .collect(),
            },
            interrupted: false,
            start_spread_s: start_spread_s(sendings),
            workers,
        })
    }
}

/// Takes numbers that were given up out of the books. They lie anywhere among those that were
/// sent, so that the account has to know of them: else the last ones would pass for numbers that
/// nobody has sent, and their gaps for losses of the path.
fn without(mut counts: StreamCounts, given_up: u64) -> StreamCounts {
    counts.frames.sent = counts.frames.sent.saturating_sub(given_up);
    counts.frames.lost = counts.frames.lost.saturating_sub(given_up);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_were_given_up_are_neither_sent_nor_lost() {
        let mut counts = StreamCounts::default();
        counts.frames.sent = 100;
        counts.frames.received = 85;
        counts.frames.lost = 15;
        let counts = without(counts, 12);
        assert_eq!((counts.frames.sent, counts.frames.received), (88, 85));
        assert_eq!(counts.frames.lost, 3);
    }
}
