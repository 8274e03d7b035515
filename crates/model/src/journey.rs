//! Single test frames on their way: where each was seen, when, and where it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::fate::FateCause;
use crate::flow::FlowPacket;
use crate::loss::LossEntry;

/// A line of `nicety trace --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum TraceLine {
    /// A frame.
    Frame(Journey),
    /// A packet of a socket, of `--follow-flow`.
    Packet(FlowPacket),
    /// The last line; none with `--follow-flow`.
    Summary(TraceSummary),
}

/// One frame.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Journey {
    /// Schema version.
    pub schema: u32,
    /// Its number in this trace, from 1.
    pub number: u64,
    /// When it was sent, in seconds since the trace began; absent of frames that were seen nowhere.
    pub sent_s: Option<f64>,
    /// Where it was seen, in this order; the place where it was thrown away is the last.
    pub stations: Vec<Sighting>,
    /// Where it ended.
    pub end: JourneyEnd,
}

/// A frame at a station.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sighting {
    /// The station: `received at d0`.
    pub station: String,
    /// Its interface.
    pub device: String,
    /// Time since the station before, the first since the frame was sent, in nanoseconds.
    pub after_ns: u64,
    /// CPU that ran there; in a guest, its virtual one.
    pub cpu: u32,
    /// Most by which that time may be wrong, in nanoseconds, where it is one into a guest or out of it: two clocks took it.
    pub error_ns: Option<u64>,
}

/// Where a frame ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum JourneyEnd {
    /// It arrived.
    Received {
        /// Time from the sender until it was seen at the receiving port; absent where it was not seen there.
        total_ns: Option<u64>,
    },
    /// The kernel threw it away.
    Dropped {
        /// Where and why.
        cause: FateCause,
    },
    /// It was seen there, did not arrive, and nothing shows why: it stands in a queue that nobody reads, or was
    /// dropped where the kernel shows nothing.
    LastSeen {
        /// The station.
        station: String,
    },
    /// It was seen nowhere and did not arrive, as an XDP frame that the first ring refuses.
    Unseen,
}

/// All frames of a trace.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TraceSummary {
    /// Schema version.
    pub schema: u32,
    /// Length of the trace in seconds.
    pub seconds: f64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Frames that did not.
    pub lost: u64,
    /// Median time of those that arrived, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile; absent with fewer than a thousand frames.
    pub p99_ns: Option<u64>,
    /// Where lost frames ended, most first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub causes: Vec<LossEntry>,
    /// Times that there was no room to note a frame at a station: then journeys have gaps.
    pub unnoted: u64,
}

impl JourneyEnd {
    /// Whether the frame arrived.
    pub fn is_received(&self) -> bool {
        matches!(self, Self::Received { .. })
    }
}
