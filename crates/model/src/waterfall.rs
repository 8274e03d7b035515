//! The path of a trial as its frames fell through it: stations in order, what came in, went out and was lost at each,
//! how long it took there and which CPU did it. `account::waterfall` makes it of what a run has recorded.
//!
//! Frames are those of the whole trial, lost ones found by their number. Times are those of sampled frames, whose
//! counts stand apart: the two are never added.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::fate::{FateOf, Way};
use crate::hop::{Hop, HopStation, HopTime};
use crate::loss::LossEntry;

/// The stations of one trial of fates.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waterfall {
    /// Name of the cell.
    pub cell: String,
    /// Repeat of the cell.
    pub repeat: u32,
    /// The trial that it repeats.
    pub of: FateOf,
    /// Which way, of a trial both ways; absent of others.
    pub way: Option<Way>,
    /// Load, per direction.
    pub load_fps: f64,
    /// Length in seconds.
    pub duration_s: f64,
    /// Frames sent; over both directions where no way is told.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Stations in the order in which frames meet them, those from A to B where no way is told.
    pub stations: Vec<WaterfallStation>,
    /// Lost frames of which no station of the path is known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub elsewhere: Vec<LossEntry>,
    /// `sent - received` less all that was lost at stations and elsewhere: 0 where the books close.
    pub off: i64,
    /// Frames that the times are of; absent where hops were not taken.
    pub sampled: Option<u64>,
    /// Time of the sampled frames from end to end.
    pub end_to_end: Option<HopTime>,
    /// What is not known of any station, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<Unknown>,
}

/// One station.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallStation {
    /// Its name: `d0`; of several guests side by side `t0 … t14`; empty for what has none.
    pub station: String,
    /// What it is: `veth`, `bridge`.
    pub kind: String,
    /// Frames that came here: those sent less those lost before, each found by its number.
    #[serde(rename = "in")]
    pub frames_in: Option<u64>,
    /// Frames that went on, or arrived. `in = out + lost` unless `off` says otherwise.
    #[serde(rename = "out")]
    pub frames_out: Option<u64>,
    /// Frames lost here.
    pub lost: u64,
    /// Why, most frames first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub causes: Vec<LossEntry>,
    /// What the station's own counter saw of frames of this way; absent where none sees them all.
    pub counted: Option<u64>,
    /// By how much its counter, or what arrived, does not fit the numbers.
    pub off: Option<Off>,
    /// Time from the station before until a frame was here, for each place at which it was seen here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hops: Vec<Hop>,
    /// CPUs: those that were seen to run it, the most frequent first, or those that its threads may use.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cpus: Vec<u32>,
    /// Whether the CPUs were seen.
    pub cpus_seen: bool,
    /// What it saw of the sampled frames.
    pub sampled: Option<HopStation>,
    /// Why there is no time.
    pub no_time: Option<Unknown>,
}

/// Frames too many or too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Off {
    /// How many: above 0 the station counted more than can have been there, below 0 fewer.
    pub frames: i64,
    /// Why.
    pub why: OffWhy,
}

/// Why counts do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OffWhy {
    /// The counter counts frames of others too.
    OtherFrames,
    /// So many of the frames that were lost elsewhere were lost before.
    Elsewhere,
    /// The counter does not see all: XDP takes frames before it.
    NotCounted,
    /// No reason is known.
    Unexplained,
}

/// What is not known, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// Times: no hops were taken in this trial.
    HopsNotTaken,
    /// Times: hops were taken, and no sampled frame was seen from end to end.
    NoSampledFrame,
    /// Frames in and out: frames went both ways, and older runs do not tell losses apart by direction.
    BothWays,
    /// Frames in and out: lost frames were not found by their number, counters alone tell of them.
    NotFollowed,
    /// Time of this station: no tracepoint of its own, its time is in that of the next station.
    InNextStation,
    /// Time of this station: it is inside a guest, whose kernel was not asked or did not see these frames.
    InGuest,
    /// Time of this station: the kernel does not carry its frames.
    OutsideKernel,
    /// Time of this station: no sampled frame was seen here. Macvlans and VLANs have no tracepoint where they receive, and
    /// XDP frames pass unseen.
    NotSeen,
}
