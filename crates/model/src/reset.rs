//! How long a path is down when it is reset (RFC 2544 §26.6, RFC 6201).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// How a path is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResetKind {
    /// The kernel's bridge is set down and up again: RFC 6201's reset of software.
    BridgeDownUp,
    /// The switch's program is killed and started again: RFC 6201's reset of software.
    ProgramRestart,
    /// Every guest's machine is reset, as by its reset button: RFC 6201's reset of hardware.
    GuestReset,
}

impl ResetKind {
    /// In words, as in `reset by ...`.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::BridgeDownUp => "bridge down and up",
            Self::ProgramRestart => "program killed and started",
            Self::GuestReset => "guest's reset button",
        }
    }
}

/// A trial in which the path was reset, see [`Purpose::Reset`](crate::Purpose::Reset).
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// How it was reset.
    pub by: ResetKind,
    /// Time from the last frame that passed before the outage to the first one behind it, in seconds, by when
    /// they were sent: RFC 6201's time-stamp method. 0 where no frame was lost.
    pub outage_s: f64,
    /// Frames lost in the outage: the longest run of lost numbers, of the direction that lost most.
    pub frames: u64,
    /// All frames lost in the trial over the rate at which they were sent, in seconds, of the direction that lost most: RFC 6201's
    /// frame-loss method.
    pub by_loss_s: f64,
    /// Whether frames passed again before the trial's end.
    pub back: bool,
    /// Time that the path had to come back, in seconds.
    pub limit_s: f64,
}

/// How long a path was down when it was reset: figures over repeated trials.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResetTime {
    /// How it was reset.
    pub by: ResetKind,
    /// Load in frames per second and direction: the throughput.
    pub load_fps: f64,
    /// Trials that count.
    pub trials: u32,
    /// Of these, trials in which the path did not come back within `limit_s`. There are none after one.
    pub not_back: u32,
    /// Time that the path had to come back, in seconds.
    pub limit_s: f64,
    /// Reset time in seconds by the time-stamp method: median over the trials in which the path came back.
    pub outage_s: Option<f64>,
    /// The shortest and the longest.
    pub outage_interval_s: Option<(f64, f64)>,
    /// Median by the frame-loss method, in seconds.
    pub by_loss_s: Option<f64>,
    /// Time between two frames, in seconds: shorter times cannot be told apart.
    pub resolution_s: f64,
}
