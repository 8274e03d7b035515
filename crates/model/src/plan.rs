//! The plan: the TOML that asks for a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::frame::{Direction, FrameSize};

/// A checked plan; every list multiplies the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the run.
    pub name: String,
    /// What is sent.
    pub traffic: Traffic,
    /// How the throughput is searched.
    pub search: SearchPlan,
    /// What is measured.
    pub paths: Vec<PathPlan>,
}

/// `[traffic]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Frame sizes.
    pub frame_sizes: Vec<FrameSize>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// Flows per direction.
    pub flows: Vec<u32>,
}

/// `[search]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// Preset.
    pub preset: Preset,
    /// Goal; the preset's own when absent.
    pub loss_ratio: Option<f64>,
    /// Repeats of every cell.
    pub repeats: u32,
    /// Length of the confirm trial; the preset's own when absent, zero for none.
    pub confirm: Option<Duration>,
}

/// Named searches, see `docs/methodology/search.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Bisection on acceptable loss, as a hardware tester's command sequencer does.
    Binary,
    /// Width 2 %, five one-second trials classify a load.
    Quick,
    /// Width 1 %, eleven one-second trials.
    Std,
    /// Width 0.5 %, twenty-one one-second trials.
    Csit,
    /// Sixty-second trials, one lossy trial is enough to refuse a load.
    Rfc2544,
}

/// One `[[path]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
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
