//! How long frames were where on their way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Times between the stations of a path, of sampled frames.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HopReport {
    /// Sampled frames that were seen at every station of the usual way.
    pub frames: u64,
    /// Of these, frames whose hops add up to their time from end to end within 1 %.
    pub summed: u64,
    /// Sampled frames that went another way, as copies do.
    pub other_ways: u64,
    /// Sampled frames that were not seen to arrive: lost, or so slow (4 ms and more) that nothing looked any more.
    pub cut: u64,
    /// Frames inside merged ones (GRO) whose first was sampled: only that one passes stations, so that none of them tells
    /// how long frames are where.
    #[serde(default)]
    pub merged: u64,
    /// Times that there was no room to note a frame, of both ways where there are two.
    pub unnoted: u64,
    /// From the sender to the receiver, of the sampled frames.
    pub end_to_end: HopTime,
    /// Mean of all frames of this trial, sampled or not, by the tester's own clock: the programs delay the sampled ones.
    pub all_mean_ns: Option<u64>,
    /// Mean of a trial at this load without the programs.
    pub plain_mean_ns: Option<u64>,
    /// The hops in the order of the way.
    pub hops: Vec<Hop>,
    /// Interfaces that saw sampled frames, in the order of the way; empty in older runs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stations: Vec<HopStation>,
    /// How far clocks of guests were compared with the host's; empty where no guest was looked into.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub clocks: Vec<GuestClock>,
}

/// The clock of a guest beside the host's during a trial.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuestClock {
    /// The guest.
    pub guest: String,
    /// Most by which the comparison may be wrong, in nanoseconds.
    pub error_ns: u64,
    /// By how much the guest's clock runs faster, in billionths.
    pub drift_ppb: i64,
    /// The shortest question and answer before and after the trial, in nanoseconds; absent where none was answered: the
    /// comparison is then by the frames alone.
    pub round_trip_ns: Option<u64>,
}

/// What an interface saw of the sampled frames: `frames = passed + dropped + left`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HopStation {
    /// The interface.
    pub device: String,
    /// Sampled frames that were seen here.
    pub frames: u64,
    /// Of these, frames that were seen at another interface after it, or have arrived.
    pub passed: u64,
    /// Of these, frames that were thrown away here.
    pub dropped: u64,
    /// Of these, frames that were not seen again: slow (4 ms and more), in a queue, or dropped where the kernel
    /// shows nothing.
    pub left: u64,
    /// CPUs that ran here, the most frequent first.
    pub cpus: Vec<u32>,
}

/// The time between two stations.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// Where it begins: `sent at a`, `received at d0`.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// CPUs that ran its end, the most frequent first.
    pub cpus: Vec<u32>,
    /// How long.
    #[serde(flatten)]
    pub time: HopTime,
    /// Most by which all times of this hop may be wrong together, in nanoseconds: it leads into a guest or out of it, and
    /// two clocks were read. The hop at the other side of the guest is then wrong by as much the other way. Absent
    /// where one clock was read.
    pub error_ns: Option<u64>,
}

impl Hop {
    /// Whether the clocks tell how long it is: they are compared to less than half of its frames took.
    pub fn is_known(&self) -> bool {
        self.error_ns.is_none_or(|error| error < self.time.p50_ns)
    }
}

/// Distribution of times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HopTime {
    /// Mean; those of all hops add up to that from end to end.
    pub mean_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Longest.
    pub max_ns: u64,
}
