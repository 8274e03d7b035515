//! What happened to the frames of a trial, in whole frames. Ratios are derived from these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame::FrameSize;
use crate::units::LossRatio;

/// Frame counts of one trial, over all streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FrameCounts {
    /// Frames the intended load asks for in the trial's duration.
    pub intended: u64,
    /// Frames the tester put on the wire.
    pub sent: u64,
    /// Distinct frames that arrived intact.
    pub received: u64,
    /// `sent - received`; a frame that arrived only damaged is lost too.
    pub lost: u64,
    /// Further copies of frames that had arrived already.
    pub duplicate: u64,
    /// Frames that arrived after a frame with a higher sequence number (RFC 4737 §3).
    pub reordered: u64,
    /// Frames of ours that arrived damaged.
    pub corrupt: u64,
    /// Frames of others, or of an earlier trial, seen on the receiving ports and ignored.
    pub foreign: u64,
}

impl FrameCounts {
    /// Lost frames over sent frames. Frames that were never sent do not enter: a trial that
    /// misses its intended load is invalid, not lossy.
    pub fn loss_ratio(&self) -> LossRatio {
        LossRatio::of(self.lost, self.sent)
    }

    /// Adds the counts of another stream of the same trial.
    pub fn add(&mut self, other: &Self) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.duplicate += other.duplicate;
        self.reordered += other.reordered;
        self.corrupt += other.corrupt;
        self.foreign += other.foreign;
    }
}

/// Lengths of runs (of lost, or of reordered frames), counted in powers of two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BurstLengths {
    /// Number of runs.
    pub bursts: u64,
    /// Longest run, in frames.
    pub longest: u64,
    /// `by_power_of_two[k]` runs had a length in `2^k ..= 2^(k+1) - 1`; trailing zeros cut off.
    pub by_power_of_two: Vec<u64>,
}

impl BurstLengths {
    /// Counts one run of `length` frames; zero is no run.
    pub fn record(&mut self, length: u64) {
        if length == 0 {
            return;
        }
        let k = length.ilog2() as usize;
        if self.by_power_of_two.len() <= k {
            self.by_power_of_two.resize(k + 1, 0);
        }
        self.by_power_of_two[k] += 1;
        self.bursts += 1;
        self.longest = self.longest.max(length);
    }
}

/// The part of a stream between two of the stations that take turns in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StationCounts {
    /// Frames sent.
    pub sent: u64,
    /// Of these, distinct frames that arrived.
    pub received: u64,
}

impl StationCounts {
    /// How many of `sent` frames each of `stations` sent, when they take turns frame by frame.
    pub fn shares(sent: u64, stations: u32) -> impl Iterator<Item = u64> {
        let all = u64::from(stations.max(1));
        (0..all).map(move |number| (sent + all - 1 - number) / all)
    }
}

/// The frames of one size in a stream of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCounts {
    /// The size.
    pub frame_size_bytes: FrameSize,
    /// Frames sent.
    pub sent: u64,
    /// Of these, distinct frames that arrived.
    pub received: u64,
}

/// Accounting of one stream of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StreamCounts {
    /// Stream number as carried in the stamp.
    pub stream: u8,
    /// The stream's frames.
    pub frames: FrameCounts,
    /// Runs of consecutive sequence numbers that never arrived.
    pub loss_bursts: BurstLengths,
    /// Runs of consecutive arrivals that were reordered.
    pub reorder_bursts: BurstLengths,
    /// Largest reordering extent in frames (RFC 4737 §4.2.1).
    pub reorder_extent_max: u64,
    /// Per pair of stations, where several take turns.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stations: Vec<StationCounts>,
    /// Per frame size of a mix, smallest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sizes: Vec<SizeCounts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_shared_out() {
        let shares = |sent, stations| StationCounts::shares(sent, stations).collect::<Vec<_>>();
        assert_eq!(shares(7, 3), [3, 2, 2]);
        assert_eq!(shares(1, 2), [1, 0]);
        assert_eq!(shares(5, 1), [5]);
        assert_eq!(shares(0, 2), [0, 0]);
    }
}
