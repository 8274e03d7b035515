//! What one endpoint counted during a socket workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::latency::LatencySummary;
use crate::note::Note;

/// CPU time of one endpoint and its host.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EndCpu {
    /// Length of the window in seconds.
    pub elapsed_s: f64,
    /// CPUs of the host that were seen.
    pub host_cpus: u32,
    /// CPUs' worth of busy time of the whole host, `0.0..=host_cpus`; everything that ran there
    /// is in it.
    pub host_busy_cpus: f64,
    /// CPUs' worth of time of the endpoint's own threads, what the kernel did for them in their
    /// system calls included.
    pub endpoint_busy_cpus: f64,
}

/// Requests of a request/response test, as the client counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RequestCounts {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered, late answers included.
    pub answered: u64,
    /// Requests given up and never answered: sent - answered.
    pub lost: u64,
    /// Answers that came after the request had been given up.
    pub late: u64,
    /// Answers to no open request: duplicates, or later than anything remembered.
    pub unexpected: u64,
}

/// Datagrams of a stream.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DatagramCounts {
    /// Sent, or arrived.
    pub datagrams: u64,
    /// Sequence numbers that came again; absent in messages too small for a sequence number.
    pub duplicate: Option<u64>,
    /// Arrived after a datagram sent later (RFC 4737 §3.3).
    pub reordered: Option<u64>,
    /// Dropped by the kernel because the receiver's socket buffer was full: lost in the endpoint,
    /// not on the way.
    pub socket_dropped: Option<u64>,
    /// Not of this test.
    #[serde(default)]
    pub foreign: u64,
}

/// State of the TCP connections at one moment, from TCP_INFO (include/uapi/linux/tcp.h).
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TcpSample {
    /// Connections looked at.
    pub connections: u32,
    /// Mean of their smoothed round trips in µs.
    pub rtt_us: f64,
    /// Mean congestion window in segments.
    pub cwnd_segments: f64,
    /// Segments sent again since the test began.
    pub retransmits: u64,
    /// Sum of the kernel's latest estimates of what is delivered, in Mbit/s of payload.
    pub delivery_rate_mbps: Option<f64>,
}

/// The TCP connections when the test ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TcpEnd {
    /// Last sample.
    pub last: TcpSample,
    /// Smallest round trip any connection saw, in µs.
    pub min_rtt_us: Option<f64>,
    /// Congestion control of the first connection.
    pub congestion_control: Option<String>,
    /// Payload of a full segment in bytes, first connection.
    pub mss_bytes: u32,
    /// Payload bytes sent, those sent again included.
    pub sent_bytes: Option<u64>,
    /// Payload bytes sent again.
    pub resent_bytes: Option<u64>,
    /// Share of the time the first connection was held back by the receiver's window.
    pub receiver_limited_ratio: Option<f64>,
    /// Share of the time the first connection was held back by its send buffer.
    pub send_buffer_limited_ratio: Option<f64>,
}

/// One line of the time line.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// End of the interval, in seconds after the start.
    pub at_s: f64,
    /// Transactions completed in it.
    pub transactions: u64,
    /// Payload bytes sent in it.
    pub sent_bytes: u64,
    /// Payload bytes received in it.
    pub received_bytes: u64,
    /// Requests given up in it.
    pub timeouts: u64,
    /// TCP at its end.
    pub tcp: Option<TcpSample>,
}

/// Everything one endpoint has to say.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EndReport {
    /// Worker threads.
    pub threads: u32,
    /// CPUs that the workers were pinned to, read back from the kernel; empty when the scheduler
    /// placed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_cpus: Vec<u32>,
    /// From the first moment a flow could work to the last thing it did, in seconds.
    pub active_s: f64,
    /// Transactions completed.
    pub transactions: u64,
    /// Payload bytes given to the kernel.
    pub sent_bytes: u64,
    /// Payload bytes taken from the kernel.
    pub received_bytes: u64,
    /// Requests; request/response clients only.
    pub requests: Option<RequestCounts>,
    /// Datagrams; UDP streams only.
    pub datagrams: Option<DatagramCounts>,
    /// Time of a transaction, request/response clients only.
    pub latency_us: Option<LatencySummary>,
    /// CPU.
    pub cpu: Option<EndCpu>,
    /// TCP.
    pub tcp: Option<TcpEnd>,
    /// Time line.
    #[serde(default)]
    pub seconds: Vec<Second>,
    /// Kernel features in use, by name.
    #[serde(default)]
    pub features: Vec<String>,
    /// What a reader of the figures should know, one sentence each.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// What went wrong, one sentence each.
    #[serde(default)]
    pub faults: Vec<String>,
}
