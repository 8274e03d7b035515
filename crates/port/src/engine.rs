//! What an engine is asked and what it answers.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nicety_model::interval::LatencyHistogram;
use nicety_model::recovery::Then;
use nicety_model::{Fps, LatencySummary, PacingReport, StreamCounts};
use nicety_packet::RunMark;

use crate::error::PortError;
use crate::pace::Timetable;
use crate::rest::Rest;

/// One trial as an engine sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialOrder {
    /// Load per direction.
    pub load: Fps,
    /// How long to send.
    pub duration: Duration,
    /// What the load becomes after that; for engines that can, see [`Engine::steps`].
    pub then: Option<Then>,
    /// Longest wait for late frames after the last one was sent.
    pub drain_max: Duration,
    /// The wait ends early when nothing has arrived for this long.
    pub drain_quiet: Duration,
    /// Number of the trial within the run; its low byte travels in every stamp.
    pub trial: u8,
    /// Rests of the senders. The load is that of the whole duration, rests included.
    pub rest: Option<Rest>,
    /// Late senders make up for up to 64 frames at any rate, see [`crate::pace::Arrears`]: for
    /// overload, where as many frames as possible are to be sent.
    pub catch_up: bool,
    /// The numbers that arrive are kept, see [`Engine::arrivals`].
    pub numbers: bool,
}

impl TrialOrder {
    /// Frames per direction.
    pub fn frames(&self) -> u64 {
        let then = self
            .then
            .map_or(0, |then| then.load.frames_in(then.duration.as_secs_f64()));
        self.frames_before() + then
    }

    /// Frames per direction before the load becomes another.
    pub fn frames_before(&self) -> u64 {
        self.load.frames_in(self.duration.as_secs_f64())
    }
}

/// What one sender did.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderReport {
    /// Stream it sent.
    pub stream: u8,
    /// Frames it was to send.
    pub intended: u64,
    /// Frames put on the wire, those refused by the path's first ring included.
    pub sent: u64,
    /// Of these, frames that the path's first ring refused (the far end of a veth pair): lost
    /// before they entered the path, and known to be so.
    pub refused_by_path: u64,
    /// Schedule.
    pub pacing: PacingReport,
}

/// How interfaces count frames that XDP programs send or take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct XdpCounts {
    /// Frames were sent as XDP frames. What a veth's ring refuses of these is counted as
    /// `tx_dropped` where it was sent, and as `rx_dropped` at the far end too (`veth_get_stats64`
    /// in drivers/net/veth.c); of ordinary frames only the former.
    pub refused_twice: bool,
    /// By stream: the receiving driver may count what the receive program has taken as
    /// `rx_dropped`.
    pub assumed_dropped: Vec<bool>,
}

/// What happened in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineReport {
    /// One per stream.
    pub senders: Vec<SenderReport>,
    /// Accounting per stream, `sent` and `lost` filled in.
    pub streams: Vec<StreamCounts>,
    /// Latency over all streams; absent when nothing arrived.
    pub latency: Option<LatencySummary>,
    /// The same as a histogram that is small enough to be kept.
    pub histogram: LatencyHistogram,
    /// The wall clock was stepped during the trial, so latency could not be measured.
    pub clock_stepped: bool,
    /// Frames the kernel dropped because the tester's own receive ring was full.
    pub tester_drops: u64,
    /// How interfaces count frames of XDP programs beside each frame's own loss.
    pub xdp: XdpCounts,
    /// The trial was stopped before its end.
    pub interrupted: bool,
    /// Largest difference between the starts of the senders, in seconds (RFC 2889 §5.1.3 allows
    /// 1 % of the trial).
    pub start_spread_s: f64,
    /// The engine's own threads.
    pub workers: Vec<WorkerUse>,
}

/// CPU time of one of the engine's threads during a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkerUse {
    /// CPU it was pinned to; absent when it could not be pinned.
    pub cpu: Option<u32>,
    /// CPU time, user and system.
    pub cpu_s: f64,
    /// Wall time.
    pub wall_s: f64,
}

/// Asks a running trial to end.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A stop that a signal handler sets through `flag`.
    pub fn shared(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// The flag itself.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Ends the trial at the next look.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the trial is to end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A part of a trial's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// Frames of it that were sent.
    pub sent: u64,
    /// Of these, frames that never arrived.
    pub lost: u64,
}

/// The frames of a trial in consecutive slots of the time in which they were sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slots {
    /// Length of each slot.
    pub length: Duration,
    /// Number of the first slot: its beginning over the length, by the monotonic clock.
    pub first: u64,
    /// Frames of all directions, from the first slot in which every direction sent from its beginning
    /// to its end to the last such slot.
    pub parts: Vec<Part>,
}

/// Which numbers of a stream arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrivals {
    /// Numbers that were given to frames, from 0 on.
    pub made: u64,
    /// Of these, numbers of frames that were never sent; which ones is not known.
    pub given_up: u64,
    /// A bit for every number that arrived.
    pub words: Vec<u64>,
}

/// A frame as it is on the wire, without FCS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedFrame {
    /// When it was received, or sent as far as that is known: nanoseconds since the Unix epoch.
    pub unix_ns: i64,
    /// Its number in the trial.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A lost frame and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostFrame {
    /// Its stream.
    pub stream: u8,
    /// The frame, made again from its number: what the sender made of it but for the time in its stamp, which is
    /// estimated from its neighbours' stamps, and the UDP checksum that follows from it.
    pub sent: TimedFrame,
    /// The last frame that arrived before the place where it is missing, as it arrived.
    pub before: Option<TimedFrame>,
    /// The first one that arrived behind it.
    pub after: Option<TimedFrame>,
}

/// A tester between two ports.
pub trait Engine {
    /// Name and how it works here, for the results: `af_packet (sendmmsg, receive ring v2)`.
    fn name(&self) -> String;

    /// Sends learning frames from every receiving port, so that switches know where its
    /// address is (RFC 2544 §23).
    fn learn(&mut self) -> Result<(), PortError>;

    /// Runs one trial and waits for late frames.
    fn trial(&mut self, order: &TrialOrder, stop: &Stop) -> Result<EngineReport, PortError>;

    /// Whether its load may become another while a trial runs, see [`TrialOrder::then`].
    fn steps(&self) -> bool {
        false
    }

    /// When the frames of the last trial were due, by stream; empty where this engine cannot say.
    fn timetables(&self) -> &[Timetable] {
        &[]
    }

    /// What became of those frames of the last trial that were sent within `spans`, or up to 9 ms
    /// before or after: spans of the monotonic clock, in ns. `None` where this engine cannot say,
    /// or not for a trial like this.
    fn part(&self, spans: &[Range<u64>]) -> Option<Part> {
        let _ = spans;
        None
    }

    /// Whether packet sockets receive: then the kernel's network stack gets a copy of every frame, and
    /// throws it away.
    fn receives_by_socket(&self) -> bool {
        false
    }

    /// What tells its frames from those of other testers.
    fn mark(&self) -> RunMark {
        RunMark::NONE
    }

    /// Which numbers of the last trial arrived, by stream, where [`TrialOrder::numbers`] asked for them.
    /// `None` where this engine cannot say.
    fn arrivals(&self) -> Option<Vec<Arrivals>> {
        None
    }

    /// Keeps the frames around up to `most` lost ones of every trial from now on, see
    /// [`Self::neighbours`]. False where this engine does not see whole frames.
    fn keep_neighbours(&mut self, most: usize) -> bool {
        let _ = most;
        false
    }

    /// The first lost frames of the last trial with what arrived before and behind them, where
    /// [`Self::keep_neighbours`] and [`TrialOrder::numbers`] asked for it.
    fn neighbours(&mut self) -> Vec<LostFrame> {
        Vec::new()
    }

    /// What became of the frames of the last trial, by the time when they were sent. `None` where
    /// this engine cannot say.
    fn slots(&self) -> Option<Slots> {
        None
    }
}
