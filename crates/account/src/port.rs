//! Frames that one port received during one trial.

use nicety_model::mix::{Mix, SizeShare};
use nicety_model::{FrameCounts, LatencySummary, SizeCounts, StationCounts, StreamCounts};
use nicety_packet::stamp::STREAM_LEARNING;
use nicety_packet::{Seen, Stamp};

use crate::sequence::{Arrival, SequenceCounts, Tracker};
use crate::slots::SlotCounts;
use crate::{AccountError, Latency};

/// Index of streams that the port does not expect.
const NONE: u8 = u8::MAX;

/// The sender's counts of a stream at the end of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamTotals {
    /// The stream.
    pub stream: u8,
    /// Frames the load asks for in the trial's duration.
    pub intended: u64,
    /// Frames sent, numbered from 0.
    pub sent: u64,
}

/// Frames at a port that belong to no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Frames of others, of another trial, or of a stream this port does not expect.
    pub foreign: u64,
    /// Frames of ours that arrived damaged; whose they were cannot be known.
    pub corrupt: u64,
    /// Learning frames.
    pub learning: u64,
}

#[derive(Debug)]
struct Stream {
    id: u8,
    /// First arrivals per pair of stations; empty where there is one pair.
    stations: Vec<u64>,
    /// First arrivals per frame size of a mix; empty where there is one size.
    sizes: Vec<u64>,
    tracker: Tracker,
    /// A bit for every number that arrived, where they are kept.
    numbers: Vec<u64>,
    /// First arrivals by the time of sending.
    arrived: SlotCounts,
    latency: Latency,
}

/// Account of one receiving port for one trial.
#[derive(Debug)]
pub struct Account {
    trial: u8,
    index: Box<[u8; 256]>,
    streams: Vec<Stream>,
    counts: PortCounts,
    mix: Option<Sequence>,
}

/// The sizes of a mix, and which of them each frame of a period has.
#[derive(Debug)]
struct Sequence {
    mix: Mix,
    order: Box<[u8]>,
}

impl Account {
    /// An account for the streams a port is to receive in `trial` (low byte of its counter).
    /// About 4.5 MB a stream, of which an undisturbed trial touches 0.5 MB.
    pub fn new(trial: u8, streams: &[u8]) -> Result<Self, AccountError> {
        Self::with_window(trial, streams, Tracker::WINDOW)
    }

    /// As [`Self::new`], with another window than [`Tracker::WINDOW`].
    pub fn with_window(trial: u8, streams: &[u8], window: usize) -> Result<Self, AccountError> {
        if streams.is_empty() {
            return Err(AccountError::NoStreams);
        }
        let mut account = Self {
            trial,
            index: Box::new([NONE; 256]),
            streams: Vec::with_capacity(streams.len()),
            counts: PortCounts::default(),
            mix: None,
        };
        for &id in streams {
            if id == STREAM_LEARNING {
                return Err(AccountError::ReservedStream { stream: id });
            }
            let index = &mut account.index[usize::from(id)];
            if *index != NONE {
                return Err(AccountError::StreamTwice { stream: id });
            }
            // At most 255 streams, so the index of the last is 254.
            *index = account.streams.len() as u8;
            account.streams.push(Stream {
                id,
                stations: Vec::new(),
                sizes: Vec::new(),
                numbers: Vec::new(),
                tracker: Tracker::new(window),
                arrived: SlotCounts::default(),
                latency: Latency::new()?,
            });
        }
        Ok(account)
    }

    /// Starts the account of another trial with the same streams and the same memory.
    pub fn reset(&mut self, trial: u8) {
        self.trial = trial;
        self.counts = PortCounts::default();
        for stream in &mut self.streams {
            stream.tracker.reset();
            stream.stations.fill(0);
            stream.sizes.fill(0);
            stream.numbers.clear();
            stream.arrived.reset();
            stream.latency.reset();
        }
    }

    /// Says that `stations` pairs of stations take turns in every stream, so that each is counted
    /// too.
    pub fn between(&mut self, stations: u32) {
        let stations = if stations > 1 { stations as usize } else { 0 };
        for stream in &mut self.streams {
            stream.stations = vec![0; stations];
        }
    }

    /// Says that frames have the sizes of a mix, so that each size is counted too.
    pub fn sized(&mut self, mix: Mix) {
        for stream in &mut self.streams {
            stream.sizes = vec![0; mix.shares().count()];
        }
        let order = mix.sequence().into_boxed_slice();
        self.mix = Some(Sequence { mix, order });
    }

    /// Tells that `stream` will send at most `frames` frames, see [`Tracker::set_limit`].
    /// Unknown streams are ignored.
    pub fn expect_at_most(&mut self, stream: u8, frames: u64) {
        if let Some(stream) = self.stream_mut(stream) {
            stream.tracker.set_limit(frames);
        }
    }

    /// Keeps a bit for each of the first `frames` numbers of every stream until the next reset, see
    /// [`Self::numbers`].
    pub fn keep_numbers(&mut self, frames: u64) {
        for stream in &mut self.streams {
            let words = frames.div_ceil(u64::from(u64::BITS)) as usize;
            stream.numbers = vec![0; words];
        }
    }

    /// The numbers of a stream that arrived, a bit each; empty where they are not kept.
    pub fn numbers(&self, stream: u8) -> &[u64] {
        let index = usize::from(self.index[usize::from(stream)]);
        let stream = self.streams.get(index);
        stream.map_or(&[], |stream| &stream.numbers)
    }

    /// Counts a frame that arrived at `now_ns` of the senders' clock.
    #[inline]
    pub fn on_frame(&mut self, seen: &Seen, now_ns: u64) {
        match seen {
            Seen::Ours(stamp) => self.on_stamp(stamp, now_ns),
            Seen::Learning => self.counts.learning += 1,
            Seen::Corrupt => self.counts.corrupt += 1,
            Seen::Foreign => self.counts.foreign += 1,
        }
    }

    /// Frames so far that belong to no stream.
    pub fn counts(&self) -> PortCounts {
        self.counts
    }

    /// Distinct frames that have arrived so far, over all streams: for watching a drain.
    pub fn arrivals(&self) -> u64 {
        self.streams.iter().map(|s| s.tracker.arrivals()).sum()
    }

    /// Closes the account with the senders' counts. Reset it before the next trial.
    ///
    /// In the result `received + lost == sent` for every stream. Damaged and foreign frames of
    /// the port, which belong to no stream, stand in its first one, so that sums are right.
    pub fn finish(&mut self, totals: &[StreamTotals]) -> Result<Vec<StreamCounts>, AccountError> {
        let mut port = Some(self.counts);
        let mut counts = Vec::with_capacity(self.streams.len());
        for stream in &mut self.streams {
            let totals = totals
                .iter()
                .find(|totals| totals.stream == stream.id)
                .ok_or(AccountError::NoTotals { stream: stream.id })?;
            let sequence = stream.tracker.finish(totals.sent);
            let mut one = stream_counts(totals, sequence, port.take().unwrap_or_default());
            let shares = StationCounts::shares(totals.sent, stream.stations.len() as u32);
            one.stations = shares
                .zip(&stream.stations)
                .map(|(sent, received)| StationCounts {
                    sent,
                    received: sent.min(*received),
                })
                .collect();
            if let Some(sequence) = &self.mix {
                one.sizes = sequence.counts(totals.sent, &stream.sizes);
            }
            counts.push(one);
        }
        Ok(counts)
    }

    /// Frames that arrived before they were sent, by the clocks; they have no latency.
    pub fn clock_errors(&self) -> u64 {
        self.streams.iter().map(|s| s.latency.clock_errors()).sum()
    }

    /// Latency over all streams of the port, in µs; nothing if no frame has one.
    pub fn latency(&self) -> Option<LatencySummary> {
        let mut all = Latency::new().ok()?;
        self.merge_latency_into(&mut all);
        all.summary()
    }

    /// Distinct frames of one stream that have arrived, by the time at which they were sent.
    pub fn arrived(&self, stream: u8) -> Option<&SlotCounts> {
        let index = usize::from(self.index[usize::from(stream)]);
        self.streams.get(index).map(|stream| &stream.arrived)
    }

    /// Adds the latencies of all streams, for a summary over several ports.
    pub fn merge_latency_into(&self, all: &mut Latency) {
        for stream in &self.streams {
            all.merge(&stream.latency);
        }
    }

    #[inline]
    fn on_stamp(&mut self, stamp: &Stamp, now_ns: u64) {
        let index = usize::from(self.index[usize::from(stamp.stream)]);
        let Some(stream) = self
            .streams
            .get_mut(index)
            .filter(|_| stamp.trial == self.trial)
        else {
            self.counts.foreign += 1;
            return;
        };
        match stream.tracker.on_arrival(stamp.sequence) {
            Arrival::InOrder | Arrival::Reordered | Arrival::TooLate => {
                stream.latency.record(stamp.elapsed_ns(now_ns));
                stream.arrived.add(stamp.tx_ns, 1);
                // Longer trials than 32 bits of frames keep no numbers.
                if let Some(word) = stream.numbers.get_mut(stamp.sequence as usize / 64) {
                    *word |= 1 << (stamp.sequence % 64);
                }
                if !stream.stations.is_empty() {
                    let station = stamp.sequence as usize % stream.stations.len();
                    stream.stations[station] += 1;
                }
                if let Some(sequence) = &self.mix {
                    let place = sequence.order[stamp.sequence as usize % sequence.order.len()];
                    stream.sizes[usize::from(place)] += 1;
                }
            }
            Arrival::Duplicate | Arrival::Impossible => {}
        }
    }

    fn stream_mut(&mut self, stream: u8) -> Option<&mut Stream> {
        self.streams
            .get_mut(usize::from(self.index[usize::from(stream)]))
    }
}

fn stream_counts(
    totals: &StreamTotals,
    sequence: SequenceCounts,
    port: PortCounts,
) -> StreamCounts {
    StreamCounts {
        stream: totals.stream,
        frames: FrameCounts {
            intended: totals.intended,
            sent: totals.sent,
            received: sequence.received,
            lost: sequence.lost,
            duplicate: sequence.duplicate,
            reordered: sequence.reordered,
            corrupt: sequence.impossible + port.corrupt,
            foreign: port.foreign,
        },
        loss_bursts: sequence.loss_bursts,
        reorder_bursts: sequence.reorder_bursts,
        reorder_extent_max: sequence.reorder_extent_max,
        stations: Vec::new(),
        sizes: Vec::new(),
    }
}

impl Sequence {
    /// Frames of each size, of `sent` frames from the beginning of the sequence on.
    fn counts(&self, sent: u64, received: &[u64]) -> Vec<SizeCounts> {
        let sent = self.mix.split(sent).into_iter();
        let sizes = self.mix.shares().zip(sent).zip(received);
        let one = |((share, sent), received): ((SizeShare, u64), &u64)| SizeCounts {
            frame_size_bytes: share.size,
            sent,
            received: sent.min(*received),
        };
        sizes.map(one).collect()
    }
}

#[cfg(test)]
mod tests;
