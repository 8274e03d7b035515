//! Times in which a CPU ran neither tester nor path during a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Share of a trial's frames set apart above which nothing can be said of it.
const MOST: f64 = 0.25;

/// In a virtual machine the hypervisor stops CPUs for milliseconds, and other programs take them.
/// What the path loses then is no property of the path: those frames are counted, and left out of
/// the loss ratio.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StallReport {
    /// Times a CPU of the tester or the path stood still for about 0.5 ms or more.
    pub stalls: u64,
    /// Times another program had such a CPU for about 0.5 ms or more.
    pub programs: u64,
    /// Longest of them, in seconds.
    pub longest_s: f64,
    /// Sum over all CPUs, in seconds.
    pub stalled_s: f64,
    /// Frames sent shortly before, during and shortly after: they say nothing about the path.
    pub frames: u64,
    /// Of these, frames lost.
    pub lost: u64,
}

impl StallReport {
    /// Share of a trial's `sent` frames that is set apart.
    pub fn share_of(&self, sent: u64) -> f64 {
        self.frames as f64 / sent.max(1) as f64
    }

    /// Whether so many of a trial's `sent` frames are set apart that nothing can be said of it.
    pub fn are_too_many(&self, sent: u64) -> bool {
        self.share_of(sent) > MOST
    }
}
