//! The plan: the TOML file that asks for a run.
//!
//! [`Plan::parse`] reads and checks it, [`Plan::cells`] walks its matrix, and [`Plan::to_toml`]
//! writes it back. Every list multiplies the matrix; a single value may stand where a list may.
//! Missing keys have the values of [`Plan::default_bridge`].

mod build;
mod cells;
mod duration;
mod file;
mod goals;
mod parse;
mod path;
mod pci;
mod points;
mod preset;
mod sockets;
mod sockets_read;
mod switch;
mod traffic;
mod vm_refusal;
mod write;

use std::time::Duration;

use crate::fate::FateMode;
use crate::frame::{Direction, FrameSize};
use crate::goal::LossGoal;
use crate::mix::Mix;
use crate::traffic::Shape;

pub use crate::path::{VmConfig, VmNic, VmSwitch};
pub use build::PortsError;
pub use cells::MAX_CELLS;
pub use duration::{DurationError, MAX_DURATION, format_duration, parse_duration};
pub use file::PlanFile;
pub use path::PathParams;
pub use preset::{Preset, UnknownPreset};
pub use sockets::{HowOften, MAX_NEIGHBOURS, SockCell, SockClient, SockPlan};
pub use switch::SwitchKind;

/// Most flows per direction: the sequence of addresses and ports the packet template can vary.
pub const MAX_FLOWS: u32 = 1_048_576;
/// Most repeats of a cell.
pub const MAX_REPEATS: u32 = 1_000;

/// A checked plan; every list multiplies the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Name of the run.
    pub name: String,
    /// What is sent.
    pub traffic: Traffic,
    /// How the throughput is searched.
    pub search: SearchPlan,
    /// What is measured; never empty, no cell twice.
    pub paths: Vec<PathPlan>,
    /// Socket workloads over the same paths; no test twice.
    pub sockets: Vec<SockPlan>,
}

/// `[traffic]`: no value stands in a list twice. Frame sizes and mixes are both empty in a plan that asks for
/// sockets only; directions and flows never are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// Frame sizes.
    pub frame_sizes: Vec<FrameSize>,
    /// Mixes of frame sizes, cells of their own behind those of the sizes.
    pub mixes: Vec<Mix>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// Flows per direction, each `1..=`[`MAX_FLOWS`].
    pub flows: Vec<u32>,
    /// What all frames are beyond that, without a mix; [tidy](Shape::tidy).
    pub shape: Shape,
}

impl Traffic {
    /// Every size and mix, with the size of its largest frames.
    pub fn sizes(&self) -> impl Iterator<Item = (FrameSize, Option<Mix>)> + '_ {
        let single = self.frame_sizes.iter().map(|size| (*size, None));
        let mixes = self.mixes.iter().map(|mix| (mix.largest(), Some(*mix)));
        single.chain(mixes)
    }

    /// Whether there is none: in a plan that asks for sockets only.
    pub fn is_none(&self) -> bool {
        self.frame_sizes.is_empty() && self.mixes.is_empty()
    }

    /// The largest frame.
    pub fn largest(&self) -> Option<FrameSize> {
        self.sizes().map(|(size, _)| size).max()
    }

    /// Whether all frames are of one size in each cell, IPv4 and UDP, and of flows that take turns: then
    /// every engine sends them.
    pub fn is_plain(&self) -> bool {
        self.mixes.is_empty() && self.shape.is_plain()
    }
}

/// `[search]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPlan {
    /// Preset; the run chooses one that suits the machine when absent.
    pub preset: Option<Preset>,
    /// Goal, `0.0..1.0`; the preset's own when absent.
    pub loss_ratio: Option<f64>,
    /// Several goals, strictest first, at most [`MAX_GOALS`](crate::goal::MAX_GOALS); empty where
    /// `loss_ratio` or the preset's own is the only one.
    pub goals: Vec<LossGoal>,
    /// Repeats of every cell, `1..=`[`MAX_REPEATS`].
    pub repeats: u32,
    /// Length of the confirm trial in whole milliseconds, at most [`MAX_DURATION`]; the
    /// preset's own when absent, zero for none.
    pub confirm: Option<Duration>,
    /// Loads at which latency, forwarding rate and loss are measured, in per cent of the throughput, lowest
    /// first; 0 is one frame at a time. Empty for latency alone at 10, 50 and 90 %.
    pub latency_load: Vec<u32>,
    /// Whether the longest burst without loss is searched for.
    pub bursts: bool,
    /// Time for which a path is overloaded before it is seen how long it goes on losing frames, in whole
    /// milliseconds, 1 s to 10 min; zero for none.
    pub recovery: Duration,
    /// Whether it is measured how long a reset takes the path down.
    pub reset: bool,
    /// Whether every lost frame's fate is found out.
    pub fate: FateMode,
}

/// One `[[path]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPlan {
    /// Two namespaces joined by a kernel bridge.
    Bridge,
    /// Two interfaces that exist already.
    Ports {
        /// Interface A.
        a: String,
        /// Interface B.
        b: String,
    },
    /// Two namespaces joined by another switch.
    Switch {
        /// The switch.
        kind: SwitchKind,
        /// Its parameters.
        params: PathParams,
    },
    /// A guest that forwards between two NICs. Points of the matrix that no machine can build
    /// are skipped.
    Vm {
        /// Its parameters, see [`VmConfig`] for each point.
        params: PathParams,
    },
}

/// A plan that cannot be run: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}; {fix}")]
pub struct PlanError {
    /// File name as given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub fix: String,
}
