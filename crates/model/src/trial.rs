//! One load for one duration: the request and the counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::built::PlaceFrames;
use crate::cpu::CpuUse;
use crate::fate::{FateOf, FateReport};
use crate::frame::FrameSize;
use crate::frames::{FrameCounts, StreamCounts};
use crate::hardware::HardwareLatency;
use crate::latency::LatencySummary;
use crate::loss::LossEntry;
use crate::note::Note;
use crate::pacing::PacingReport;
use crate::recovery::LoadStep;
use crate::reset::Outage;
use crate::stalls::StallReport;
use crate::units::LossRatio;
use crate::windows::Windows;

/// Why a trial was run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Purpose {
    /// Heats caches and tables before the search; its result is not used.
    WarmUp,
    /// Asked for by the search.
    Search,
    /// The longer trial beside the result.
    Confirm,
    /// Latency at a share of the found throughput.
    Latency {
        /// Share of the throughput.
        load_ratio: f64,
    },
    /// A burst at the highest rate, which finds out how deep the path's buffer is.
    Burst,
    /// An overload that becomes half of its load while the trial runs: how long are frames lost then?
    Recovery,
    /// The path is reset while frames come: how long do none pass?
    Reset,
    /// A repeat of another trial that finds out what becomes of every lost frame. No throughput and
    /// no latency comes from it.
    Fate {
        /// The trial that it repeats.
        of: FateOf,
    },
}

/// Largest share by which the offered load may stay below the intended one.
pub const LOAD_TOLERANCE: f64 = 0.03;

/// Whether a trial may be used by the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Validity {
    /// The load was as intended and every frame that reached the tester was counted.
    Valid,
    /// The offered load missed the intended one by more than the tolerance.
    LoadMissed {
        /// What kept the sender from it.
        why: String,
    },
    /// The tester's own receive sockets dropped frames.
    TesterDropped {
        /// How many.
        frames: u64,
    },
    /// CPUs stood still for too much of it.
    Stalled {
        /// How often and how long.
        why: String,
    },
    /// The trial could not be run or finished.
    Broken {
        /// What happened.
        why: String,
    },
}

impl Validity {
    /// Whether the trial counts.
    pub fn is_valid(&self) -> bool {
        matches!(self, Self::Valid)
    }
}

/// Frames that one of several guests carried in a trial, over all directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuestFrames {
    /// Which guest.
    pub guest: String,
    /// Frames sent through it: its share of the load.
    pub sent: u64,
    /// Of these, frames that arrived.
    pub received: u64,
    /// `sent - received`.
    pub lost: u64,
    /// Lost over sent.
    pub loss_ratio: LossRatio,
    /// Received frames per second of sending time, per direction.
    pub forwarding_fps: f64,
}

/// What became of the frames of one size of a mix, over all directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeFrames {
    /// The size, in bytes with FCS.
    pub frame_size_bytes: FrameSize,
    /// Frames sent.
    pub sent: u64,
    /// Of these, frames that arrived.
    pub received: u64,
    /// `sent - received`.
    pub lost: u64,
    /// Lost over sent.
    pub loss_ratio: LossRatio,
}

/// One line of `trials.jsonl`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Schema version.
    pub schema: u32,
    /// Cell name, as in [`crate::CellResult::cell`].
    pub cell: String,
    /// Repeat of the cell, from 1; 0 for the control cell's further visits is not used.
    pub repeat: u32,
    /// Visit of the control cell, from 1; absent for ordinary cells.
    pub control: Option<u32>,
    /// Number of the trial within the cell's repeat, from 1.
    pub index: u32,
    /// Why it was run.
    pub purpose: Purpose,
    /// Intended load per direction in frames per second.
    pub load_fps: f64,
    /// Intended duration in seconds.
    pub duration_s: f64,
    /// Wall time of the whole trial with preparation and drain, in seconds.
    pub wall_s: f64,
    /// Start, seconds since the Unix epoch.
    pub started_unix_s: f64,
    /// Whether the search may use it.
    pub validity: Validity,
    /// Frames over all streams.
    pub frames: FrameCounts,
    /// Lost over sent, without the frames that [`StallReport`] sets apart.
    pub loss_ratio: LossRatio,
    /// CPUs that stood still meanwhile; absent where stalls were not measured, or where the frames
    /// concerned are not known.
    pub stalls: Option<StallReport>,
    /// Loss over short windows; absent where the engine cannot say which frames were sent when.
    pub windows: Option<Windows>,
    /// Round trip of a cache line between a CPU of the tester and one of the path, in ns, before and
    /// after the trial; absent where that cannot be measured.
    pub cache_line_ns: Option<[f64; 2]>,
    /// Received frames per second of sending time, per direction.
    pub forwarding_fps: f64,
    /// Per guest, where several share the path and their frames take turns.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub guests: Vec<GuestFrames>,
    /// Per frame size of a mix, smallest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sizes: Vec<SizeFrames>,
    /// Per stream.
    pub streams: Vec<StreamCounts>,
    /// The slowest sender's schedule.
    pub pacing: PacingReport,
    /// Latency of every frame received; absent when the clock stepped or nothing arrived.
    pub latency_us: Option<LatencySummary>,
    /// Latency by the NICs' own stamps, of probes sent beside the load; absent when not measured.
    pub hardware_latency: Option<HardwareLatency>,
    /// CPU use while sending.
    pub cpu: Option<CpuUse>,
    /// Where frames were lost.
    pub loss_ledger: Vec<LossEntry>,
    /// How the ledger was made, where every lost frame was looked for by its number.
    pub fate: Option<FateReport>,
    /// What was lost before and after the load was lowered; absent where it was not.
    pub step: Option<LoadStep>,
    /// What a reset of the path did; absent where there was none.
    pub outage: Option<Outage>,
    /// What passed at each place of the path; empty in older runs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub passed: Vec<PlaceFrames>,
    /// What a reader should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}
