//! A constant load over a long time, interval by interval: the lines of `nicety load`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::frames::FrameCounts;
use crate::latency::LatencySummary;
use crate::loss::LossEntry;
use crate::note::Note;
use crate::trial::{LOAD_TOLERANCE, Validity};

/// Latencies in buckets whose width grows with them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyHistogram {
    /// Buckets of an octave, from one power of two nanoseconds to the next: 1, 2, 4 or 8. 0 without a bucket.
    pub per_octave: u32,
    /// Lower end of a bucket in nanoseconds, and frames in it; empty ones are left out.
    pub buckets: Vec<[u64; 2]>,
}

/// A line of `nicety load --json`, and of the file `intervals.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum LoadLine {
    /// What became of the frames of an interval.
    Interval(Box<Interval>),
    /// The first loss.
    Alarm(Alarm),
    /// A time of which nothing is known.
    Gap(Gap),
    /// The last line.
    Summary(Box<LoadSummary>),
}

/// One interval, or several that were put together.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Schema version.
    pub schema: u32,
    /// Its number, from 1; of several the last one's.
    pub number: u64,
    /// Start, seconds since the Unix epoch.
    pub started_unix_s: f64,
    /// Length with the drain, in seconds.
    pub wall_s: f64,
    /// Time in which frames were sent, in seconds.
    pub sending_s: f64,
    /// Load per direction that was asked for, in frames per second.
    pub load_fps: f64,
    /// Load per direction that was offered while sending; of several intervals the lowest.
    pub offered_fps: f64,
    /// Received frames per second of sending time, over all directions.
    pub received_fps: f64,
    /// Frames over all directions.
    pub frames: FrameCounts,
    /// Of the lost frames, those that say nothing about the path: a CPU stood still, or the tester itself dropped
    /// them.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub set_apart: u64,
    /// Whether the load was as intended and every frame that reached the tester was counted.
    pub validity: Validity,
    /// When frames were lost, the earliest first; few are kept, and these may hold less than all lost frames.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub losses: Vec<LossSpan>,
    /// Where frames were lost.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loss_ledger: Vec<LossEntry>,
    /// Latency of every frame that arrived, in µs; absent where none did or the clock stepped.
    pub latency_us: Option<LatencySummary>,
    /// The same as a histogram.
    #[serde(skip_serializing_if = "LatencyHistogram::is_empty", default)]
    pub histogram: LatencyHistogram,
    /// How many of several intervals that were put together had loss, and how many were invalid; absent of one.
    pub several: Option<Several>,
    /// Each flow, where there are several, but not too many for a line.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub flows: Vec<FlowFrames>,
}

/// Intervals that were put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Several {
    /// With loss.
    pub lossy: u64,
    /// That missed their load or were counted badly.
    pub invalid: u64,
}

/// Frames that were lost close together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossSpan {
    /// When the first of them was due to be sent, seconds since the Unix epoch.
    pub at_unix_s: f64,
    /// From the first to the last of them, in seconds.
    pub seconds: f64,
    /// How many.
    pub frames: u64,
    /// Stream: 0 is A to B, 1 is B to A.
    pub stream: u8,
    /// Number of the first of them in its interval, from 0.
    pub first: u64,
}

/// What became of one flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowFrames {
    /// Stream: 0 is A to B, 1 is B to A.
    pub stream: u8,
    /// Number of the flow, from 0.
    pub flow: u32,
    /// Source address and UDP port.
    pub source: String,
    /// Destination address and UDP port.
    pub destination: String,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
}

/// The first loss, told as soon as its interval is over.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alarm {
    /// Schema version.
    pub schema: u32,
    /// Number of the interval.
    pub number: u64,
    /// When: start of the first lost frames where their numbers are known, else of the interval. Seconds since the
    /// Unix epoch.
    pub at_unix_s: f64,
    /// Frames lost in the interval, without those set apart.
    pub lost: u64,
    /// Of so many.
    pub sent: u64,
    /// Where, most first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loss_ledger: Vec<LossEntry>,
}

/// Why nothing is known of a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum GapWhy {
    /// The program ended and was started again.
    Restart,
    /// The path or a port broke.
    Broken {
        /// What happened.
        why: String,
    },
}

/// A time in which no frames were counted. Frames of it are neither sent nor lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Schema version.
    pub schema: u32,
    /// End of what is known before it, seconds since the Unix epoch.
    pub from_unix_s: f64,
    /// Start of what is known after it.
    pub to_unix_s: f64,
    /// Why.
    pub why: GapWhy,
}

/// Loss of one interval, in a list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossyInterval {
    /// Number of the interval.
    pub number: u64,
    /// When the first of its frames was lost, as well as that is known; seconds since the Unix epoch.
    pub at_unix_s: f64,
    /// Frames lost, without those set apart.
    pub lost: u64,
    /// Where most of them were lost.
    pub place: String,
}

/// What all intervals come to.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadSummary {
    /// Schema version.
    pub schema: u32,
    /// Start of the first interval, seconds since the Unix epoch.
    pub started_unix_s: f64,
    /// End of the last one.
    pub ended_unix_s: f64,
    /// Intervals.
    pub intervals: u64,
    /// Time in which frames were sent, in seconds.
    pub sending_s: f64,
    /// Length of all intervals with their drains, in seconds.
    pub wall_s: f64,
    /// Whether it went on for as long as was asked for.
    pub complete: bool,
    /// Mean load per direction that was asked for while sending, in frames per second.
    #[serde(default)]
    pub load_fps: f64,
    /// Mean load per direction that was offered while sending, in frames per second.
    pub offered_fps: f64,
    /// Frames over all intervals and directions.
    pub frames: FrameCounts,
    /// Of the lost frames, those that say nothing about the path.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub set_apart: u64,
    /// Lost frames, without those set apart, over sent frames.
    pub loss_ratio: f64,
    /// Intervals with loss.
    pub lossy_intervals: u64,
    /// Intervals that missed their load or were counted badly.
    pub invalid_intervals: u64,
    /// The first of the lossy intervals.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub losses: Vec<LossyInterval>,
    /// When frames were lost last; absent without loss.
    pub last_loss_unix_s: Option<f64>,
    /// Where frames were lost, most first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loss_ledger: Vec<LossEntry>,
    /// Latency of every frame; percentiles are those of the histogram, in µs.
    pub latency_us: Option<LatencySummary>,
    /// The histogram.
    #[serde(skip_serializing_if = "LatencyHistogram::is_empty", default)]
    pub histogram: LatencyHistogram,
    /// The first of the gaps.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gaps: Vec<Gap>,
    /// Gaps, those that are not listed among them.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub gap_count: u64,
    /// Length of all gaps in seconds.
    #[serde(skip_serializing_if = "is_none", default)]
    pub gap_s: f64,
    /// Flows that lost most, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub flows: Vec<FlowFrames>,
    /// Flows with loss.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub lossy_flows: u64,
    /// What a reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<Note>,
}

impl LatencyHistogram {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}

impl Interval {
    /// Lost frames that say something about the path.
    pub fn lost(&self) -> u64 {
        self.frames.lost.saturating_sub(self.set_apart)
    }

    /// How many intervals of it had loss, and how many were invalid.
    pub fn several(&self) -> Several {
        self.several.unwrap_or(Several {
            lossy: u64::from(self.lost() > 0),
            invalid: u64::from(!self.validity.is_valid()),
        })
    }

    /// When it ended, seconds since the Unix epoch.
    pub fn ended_unix_s(&self) -> f64 {
        self.started_unix_s + self.wall_s
    }

    /// When the first of its frames was lost, as well as that is known.
    pub fn loss_at_unix_s(&self) -> f64 {
        let first = self.losses.first();
        first.map_or(self.started_unix_s, |span| span.at_unix_s)
    }
}

impl LoadSummary {
    /// Lost frames that say something about the path.
    pub fn lost(&self) -> u64 {
        self.frames.lost.saturating_sub(self.set_apart)
    }

    /// Share of the load that was offered, where it is too small for a load that was sent as asked for.
    pub fn sent_share(&self) -> Option<f64> {
        let enough = self.load_fps * (1.0 - LOAD_TOLERANCE);
        (self.offered_fps < enough).then(|| self.offered_fps / self.load_fps)
    }
}

fn is_none(seconds: &f64) -> bool {
    *seconds == 0.0
}
