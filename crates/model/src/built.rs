//! A path as it was built: its places, the threads that carry frames, and what passed where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::trial::TrialRecord;

/// The path of one visit of a cell.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BuiltPath {
    /// Places that count frames, in the order in which frames from A to B meet them.
    pub places: Vec<BuiltPlace>,
    /// Threads that carry the path's frames.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub threads: Vec<BuiltThread>,
    /// CPUs on which the tester sends and receives; empty where it is not pinned.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tester_cpus: Vec<u32>,
    /// What passed in the confirm trial.
    pub confirm: Option<Passage>,
    /// What passed in the lowest search trial above the throughput.
    pub overload: Option<Passage>,
}

/// One place: an interface, or a port of a switch that is a program.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BuiltPlace {
    /// Name, as in the loss ledger: `a`, `d0`, `guest eth0`, `ovs p0`.
    pub name: String,
    /// Receive queues; absent where nobody says.
    pub queues: Option<u32>,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BuiltThread {
    /// Interface or program whose frames it carries: `d0`, `guest`, `ovs pmd-c01`.
    pub at: String,
    /// Name its time is booked under: `napi/d0`, `guest/vcpu0`.
    pub name: String,
    /// CPUs it may run on.
    pub cpus: Vec<u32>,
}

/// What passed in one trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// Intended load per direction in frames per second.
    pub load_fps: f64,
    /// Intended duration in seconds.
    pub duration_s: f64,
    /// The tester's own count for each direction: A to B, then B to A.
    pub ends: Vec<Ends>,
    /// What each place counted.
    pub places: Vec<PlaceFrames>,
}

/// What the tester sent in one direction, and what of it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ends {
    /// Frames sent.
    pub sent: u64,
    /// Distinct frames that arrived.
    pub received: u64,
}

/// What one place counted during a trial, foreign frames included.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlaceFrames {
    /// Name of the place.
    pub place: String,
    /// Frames it received (`rx_packets`).
    pub received: u64,
    /// Frames it sent (`tx_packets`).
    pub sent: u64,
}

impl Passage {
    /// What passed in this trial; absent where its places were not read, as in older runs.
    pub fn of(trial: &TrialRecord) -> Option<Self> {
        let ends = trial.streams.iter().map(|stream| Ends {
            sent: stream.frames.sent,
            received: stream.frames.received,
        });
        (!trial.passed.is_empty()).then(|| Self {
            load_fps: trial.load_fps,
            duration_s: trial.duration_s,
            ends: ends.collect(),
            places: trial.passed.clone(),
        })
    }
}
