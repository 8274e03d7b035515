//! One point of the matrix and its result.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::built::BuiltPath;
use crate::burst::BackToBack;
use crate::cpu::CpuUse;
use crate::curve::CurvePoint;
use crate::disturbance::Disturbance;
use crate::estimate::Estimate;
use crate::fate::CellFate;
use crate::frame::{Direction, FrameSize};
use crate::frames::FrameCounts;
use crate::goal::GoalResult;
use crate::hardware::HardwareLatency;
use crate::latency::LatencySummary;
use crate::loss::LossEntry;
use crate::note::Note;
use crate::path::PathSpec;
use crate::problem::{Problem, ProblemCode};
use crate::recovery::Recovery;
use crate::reset::ResetTime;
use crate::traffic::Shape;
use crate::trial::{GuestFrames, SizeFrames};
use crate::units::{Fps, LossRatio};
use crate::verdict::Verdict;

/// Identity of a cell: the path's parameters, the frame size and the direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CellKey {
    /// The path's parameters in words; `kind` is always there.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub path: PathSpec,
    /// Frame size; that of the largest frames of a mix.
    pub frame_size_bytes: FrameSize,
    /// Direction.
    pub direction: Direction,
    /// Flows per direction.
    pub flows: u32,
    /// What frames are beyond one size of IPv4 and UDP; no keys for these.
    #[serde(flatten)]
    pub shape: Shape,
}

impl CellKey {
    /// Kind of the path: `bridge`, `ports`, `vm`, …
    pub fn kind(&self) -> &str {
        self.path.kind()
    }

    /// Name of the path without frame size and direction: `bridge`, `vm,nic=e1000,vcpus=2`.
    pub fn path_name(&self) -> String {
        self.path.to_string()
    }

    /// Name of the cell: `bridge/64/uni`, with `/flows=N` when there is more than one flow, and with
    /// words for what is unusual about its frames: `bridge/imix:simple/uni/ipv6`.
    pub fn name(&self) -> String {
        let mut name = format!("{}/{}/{}", self.path, self.size_name(), self.direction);
        if self.flows > 1 {
            name.push_str(&format!("/flows={}", self.flows));
        }
        for word in self.shape.words() {
            name.push('/');
            name.push_str(&word);
        }
        name
    }

    /// The frame size, or the mix: `64`, `imix:simple`.
    pub fn size_name(&self) -> String {
        match &self.shape.imix {
            Some(mix) => format!("imix:{}", mix.called()),
            None => self.frame_size_bytes.to_string(),
        }
    }

    /// The frame size or the mix in a sentence: `64 bytes`, `imix:simple`.
    pub fn size_words(&self) -> String {
        match &self.shape.imix {
            Some(_) => self.size_name(),
            None => format!("{} bytes", self.frame_size_bytes),
        }
    }

    /// What is unusual about the frames, a mix first: `imix:simple, ipv6`; empty where nothing is.
    pub fn traffic_words(&self) -> String {
        let mix = self.shape.imix.map(|_| self.size_name());
        let words: Vec<String> = mix.into_iter().chain(self.shape.words()).collect();
        words.join(", ")
    }

    /// The frame size, of a mix the mean: where a cell stands on an axis of sizes.
    pub fn mean_size(&self) -> FrameSize {
        let mean = self.shape.imix.map(|mix| mix.mean_bytes().round() as u16);
        let mean = mean.and_then(|bytes| FrameSize::new(bytes).ok());
        mean.unwrap_or(self.frame_size_bytes)
    }

    /// Rate at L1 in Mbit/s, of a mix with its mean frame.
    pub fn l1_mbps(&self, rate: Fps) -> f64 {
        match &self.shape.imix {
            Some(mix) => mix.l1_mbps(rate),
            None => self.frame_size_bytes.l1_mbps(rate),
        }
    }

    /// Rate at L2 in Mbit/s, of a mix with its mean frame.
    pub fn l2_mbps(&self, rate: Fps) -> f64 {
        match &self.shape.imix {
            Some(mix) => mix.l2_mbps(rate),
            None => self.frame_size_bytes.l2_mbps(rate),
        }
    }

    /// Highest rate of a link of `mbps` Mbit/s.
    pub fn line_rate(&self, mbps: f64) -> Fps {
        match &self.shape.imix {
            Some(mix) => mix.line_rate(mbps),
            None => self.frame_size_bytes.line_rate(mbps),
        }
    }
}

/// Where the search ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SearchBounds {
    /// Highest load that met the goal.
    pub lower_fps: Option<f64>,
    /// Lowest load that did not, absent when even the highest load met the goal.
    pub upper_fps: Option<f64>,
}

/// The longer trial run at the result.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmResult {
    /// Load, per direction.
    pub load_fps: f64,
    /// Length in seconds.
    pub duration_s: f64,
    /// Loss seen.
    pub loss_ratio: LossRatio,
    /// Whether the loss is within the goal, judged as the search judges: in more than half of the
    /// windows, or over all frames where the preset judges whole trials.
    pub met: bool,
    /// Frames lost.
    pub lost: Option<u64>,
    /// Of these, frames sent while a CPU stood still or shortly before or after.
    pub lost_in_stalls: Option<u64>,
    /// Share of the windows that lost more than the goal.
    pub bad_windows: Option<f64>,
}

/// The results among everything measured. Visits of the control cell beyond its own repeats show
/// drift and are no results, unless none of its repeats has a throughput: then what they found is
/// all that is known of the cell.
pub fn results(cells: &[CellResult]) -> impl Iterator<Item = &CellResult> {
    let measured = |cell: &&CellResult| cell.control.is_none() && cell.throughput_fps.is_some();
    let names = cells.iter().filter(measured).map(|cell| &*cell.cell);
    let measured: BTreeSet<&str> = names.collect();
    cells.iter().filter(move |cell| {
        let alone = || cell.throughput_fps.is_some() && !measured.contains(&*cell.cell);
        cell.control.is_none() || alone()
    })
}

/// Result of one repeat of one cell: one line of `cells.jsonl`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellResult {
    /// Schema version.
    pub schema: u32,
    /// Name, see [`CellKey::name`].
    pub cell: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Visit of the control cell, from 1; absent for ordinary cells.
    pub control: Option<u32>,
    /// The cell's parameters.
    #[serde(flatten)]
    pub key: CellKey,
    /// Engine that sent and received, and how: `af_packet (sendmmsg, rx ring v2)`.
    pub engine: String,
    /// Goal: highest allowed loss ratio.
    pub loss_goal: f64,
    /// Result: conditional throughput (RFC 9971), per direction.
    pub throughput_fps: Option<f64>,
    /// What was found for each of several goals, strictest first: the first is the cell's own. Empty
    /// where the plan has one goal.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub goals: Vec<GoalResult>,
    /// Bounds of the search.
    #[serde(flatten)]
    pub bounds: SearchBounds,
    /// Interval of the throughput from this visit alone.
    pub estimate: Option<Estimate>,
    /// Capacity: forwarding rate under overload (RFC 2285 §3.6), median of the windows, in frames
    /// per second and direction.
    pub capacity_fps: Option<f64>,
    /// Length of the windows by which loads were judged, in seconds; absent where whole trials were.
    pub window_s: Option<f64>,
    /// Throughput at L1 in Mbit/s, per direction.
    pub throughput_l1_mbps: Option<f64>,
    /// Throughput at L2 in Mbit/s, per direction.
    pub throughput_l2_mbps: Option<f64>,
    /// The tester's own limit for this frame size, measured without the path.
    pub tester_limit_fps: Option<f64>,
    /// Confirm trial.
    pub confirm: Option<ConfirmResult>,
    /// Lower load that held for as long as the confirm trial, which lost more than the goal.
    pub held: Option<ConfirmResult>,
    /// Latency at the highest share of the throughput that was measured, up to 90 %.
    pub latency_us: Option<LatencySummary>,
    /// Latency at every share measured, lowest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub latency_by_load_us: Vec<LatencySummary>,
    /// Forwarding rate, loss and latency at the loads that the plan chose, lowest first;
    /// empty where neither did.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub curve: Vec<CurvePoint>,
    /// Longest burst without loss and the buffer that it tells of; absent where bursts were not asked for.
    pub back_to_back: Option<BackToBack>,
    /// How long it went on losing frames after an overload; absent where that was not asked for.
    pub recovery: Option<Recovery>,
    /// How long it was down when it was reset; absent where that was not asked for or not possible.
    pub reset: Option<ResetTime>,
    /// Latency by the NICs' own stamps at every share measured, lowest first; empty where they have
    /// none or were not used.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hardware_latency: Vec<HardwareLatency>,
    /// CPU use during the confirm trial.
    pub cpu: Option<CpuUse>,
    /// Where frames were lost during the confirm trial.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loss_ledger: Vec<LossEntry>,
    /// Where frames were lost in the lowest search trial above the throughput: where loss begins.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub overload_ledger: Vec<LossEntry>,
    /// What became of every lost frame, in trials of their own; empty where that was not asked for or
    /// not possible.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fates: Vec<CellFate>,
    /// The path as it was built, and what passed where; absent in older runs.
    pub built: Option<BuiltPath>,
    /// Frames of the confirm trial.
    pub frames: Option<FrameCounts>,
    /// What each guest carried in the confirm trial, where several share the path: the throughput
    /// is that of all together.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub guests: Vec<GuestFrames>,
    /// What became of the frames of each size of a mix in the confirm trial.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sizes: Vec<SizeFrames>,
    /// Other users of the CPUs meanwhile.
    pub disturbance: Option<Disturbance>,
    /// Round trip of a cache line between tester and path during the search, in ns: median of its
    /// trials, each as far apart as it saw them.
    pub cache_line_ns: Option<f64>,
    /// Number of search trials, invalid ones included.
    pub trials: u32,
    /// Wall time of the search, without confirm and latency trials, in seconds.
    pub search_s: f64,
    /// How far to trust the number.
    pub verdict: Verdict,
    /// Explanations, most important first.
    pub notes: Vec<Note>,
}

/// A cell of the plan that this machine cannot build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedCell {
    /// Name of the cell.
    pub cell: String,
    /// Which kind of problem it is; absent in runs of older versions, and where it is of a newer one.
    #[serde(
        default,
        deserialize_with = "ProblemCode::read",
        skip_serializing_if = "Option::is_none"
    )]
    pub code: Option<ProblemCode>,
    /// What is missing.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

impl SkippedCell {
    /// The cell and its problem.
    pub fn new(cell: String, problem: Problem) -> Self {
        Self {
            cell,
            code: Some(problem.code),
            reason: problem.what,
            remedy: problem.remedy.unwrap_or_default(),
        }
    }
}
