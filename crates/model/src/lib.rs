//! Vocabulary of nicety: units, frame sizes, loads, trials, cells, plans and results.
//!
//! Every other crate uses these types. They hold values and convert between units; they decide
//! nothing and touch nothing. A number with a unit is a type here, and a unit is part of every
//! key in JSON.
//!
//! Terms follow RFC 1242, RFC 2285 and RFC 2544; see `docs/methodology/terms.md`.

pub mod bill;
pub mod bisect;
pub mod bitrate;
pub mod bounded;
pub mod built;
pub mod burst;
pub mod cell;
pub mod cell_choice;
pub mod compare;
pub mod counted;
pub mod cpu;
pub mod cpu_list;
pub mod curve;
pub mod disturbance;
pub mod driver;
pub mod drops;
pub mod estimate;
pub mod facts;
pub mod fate;
pub mod finding;
pub mod fleet;
pub mod flow;
pub mod frame;
pub mod frames;
pub mod goal;
pub mod hardware;
pub mod history;
pub mod hop;
pub mod host_list;
pub mod interface_name;
pub mod interval;
pub mod journal;
pub mod journey;
pub mod kept;
mod keywords;
pub mod knob;
pub mod latency;
pub mod limit;
pub mod loss;
pub mod measured;
pub mod mix;
pub mod note;
pub mod number;
pub mod pacing;
pub mod path;
pub mod path_mtu;
pub mod picture;
pub mod plan;
pub mod policed;
pub mod probe;
pub mod problem;
pub mod recovery;
pub mod reference;
pub mod remedy;
pub mod reset;
pub mod route;
pub mod run;
pub mod shell;
pub mod soak;
pub mod sock;
pub mod source;
pub mod stalls;
pub mod stateful;
pub mod stats;
mod total;
pub mod traffic;
pub mod traffic_control;
mod trial;
pub mod units;
pub mod utc;
pub mod verdict;
pub mod vf;
pub mod visible;
pub mod waterfall;
pub mod windows;

pub use bitrate::{BitRate, BitRateError};
pub use built::{BuiltPath, BuiltPlace, BuiltThread, Ends, Passage, PlaceFrames};
pub use burst::BackToBack;
pub use cell::{CellKey, CellResult, ConfirmResult, SearchBounds};
pub use cpu::{CoreUse, CpuUse, GuestUse, PollUse, WhoUse};
pub use curve::CurvePoint;
pub use disturbance::{Disturbance, Program};
pub use estimate::Estimate;
pub use facts::HostFacts;
pub use fate::{CellFate, FateCause, FateMode, FateOf, FateReport};
pub use frame::{Direction, FrameSize};
pub use frames::{BurstLengths, FrameCounts, SizeCounts, StationCounts, StreamCounts};
pub use goal::{GoalResult, GoalSummary, LossGoal};
pub use hardware::{HardwareLatency, HardwareProbes};
pub use latency::LatencySummary;
pub use limit::{EngineChoice, EngineName, LimitKey};
pub use loss::LossEntry;
pub use mix::Mix;
pub use note::Note;
pub use pacing::PacingReport;
pub use path::PathSpec;
pub use plan::{Plan, PlanError};
pub use problem::{Coded, Problem, ProblemCode, ProblemKind, Remedy};
pub use recovery::{LoadStep, Recovery};
pub use reset::{Outage, ResetKind, ResetTime};
pub use run::{Fingerprint, Run};
pub use stalls::StallReport;
pub use stats::Spread;
pub use total::total;
pub use traffic::{Popularity, Shape, Tags, Transport};
pub use trial::{GuestFrames, LOAD_TOLERANCE, Purpose, SizeFrames, TrialRecord, Validity};
pub use units::{Fps, LossRatio};
pub use verdict::Verdict;
pub use waterfall::Waterfall;
pub use windows::{Window, Windows};

/// Version of every JSON object nicety writes; raised when a key changes meaning or goes away.
pub const SCHEMA: u32 = 1;

/// Whether a value of a JSON object is left out because it says no more than its absence.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
