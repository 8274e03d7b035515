//! How long a path goes on losing frames after an overload (RFC 2544 §26.5).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::units::Fps;

/// Time of overload that RFC 2544 §26.5 asks for at least.
pub const RFC_OVERLOAD: Duration = Duration::from_secs(60);
/// Shortest overload that can be asked for.
pub const MIN_OVERLOAD: Duration = Duration::from_secs(1);
/// Longest overload that can be asked for.
pub const MAX_OVERLOAD: Duration = Duration::from_secs(600);

/// What the load becomes while a trial runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Then {
    /// Load per direction.
    pub load: Fps,
    /// How long it is sent.
    pub duration: Duration,
}

/// A trial whose load was lowered while it ran, see [`Purpose::Recovery`](crate::Purpose::Recovery).
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStep {
    /// Load from the step on, in frames per second and direction.
    pub then_fps: f64,
    /// Time from the first frame to the step, in seconds.
    pub before_s: f64,
    /// Time from the step to the last frame, in seconds.
    pub after_s: f64,
    /// Frames sent before the step, over all directions.
    pub sent_before: u64,
    /// Of these, frames that were lost.
    pub lost_before: u64,
    /// Frames sent from the step on that were lost, over all directions.
    pub lost_after: u64,
    /// When the last of the lost frames was sent, in seconds after the step: RFC 2544's timestamp B minus A.
    /// Negative where it was sent before the step; absent where nothing was lost.
    pub last_lost_s: Option<f64>,
}

/// How long a path went on losing frames after its load was lowered: figures over repeated trials.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// Load before the step, in frames per second and direction.
    pub overload_fps: f64,
    /// The same as a share of the throughput: 1.1, or less where `at_highest`.
    pub overload_ratio: f64,
    /// The load is the highest that the tester or the link has, which is less than 110 % of the throughput.
    pub at_highest: bool,
    /// Load from the step on, in frames per second and direction: half of the other.
    pub then_fps: f64,
    /// Time for which the path was overloaded, in seconds. RFC 2544 asks for 60 or more.
    pub overload_s: f64,
    /// Time for which frames were sent from the step on, in seconds.
    pub watched_s: f64,
    /// Trials that count.
    pub trials: u32,
    /// Of these, trials in which the overload lost frames.
    pub overloaded: u32,
    /// Of these, trials that lost frames to the end of the time watched.
    pub not_recovered: u32,
    /// Recovery time in seconds: median over the trials whose overload lost frames. 0 where no frame that was
    /// sent from the step on was lost. Absent where the path could not be overloaded.
    pub recovery_s: Option<f64>,
    /// The shortest and the longest.
    pub recovery_interval_s: Option<(f64, f64)>,
    /// Most of the trials lost frames to the end: it takes longer than `watched_s`.
    pub at_least: bool,
    /// Time between two frames from the step on, in seconds: shorter times cannot be told apart.
    pub resolution_s: f64,
}
