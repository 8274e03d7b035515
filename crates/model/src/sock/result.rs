//! Results of socket workloads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::end::{DatagramCounts, EndReport, RequestCounts};
use super::spec::{Family, SockSpec};
use crate::latency::LatencySummary;
use crate::note::Note;
use crate::stats::Spread;
use crate::units::LossRatio;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As asked.
    Complete,
    /// The user stopped it; the figures are those of the time until then.
    Interrupted,
    /// The other end went away; the figures are those of the time until then, this end's only.
    PeerLost,
    /// It ran for its time, but some flows broke down.
    Faulty,
}

impl Ending {
    /// Word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::PeerLost => "peer lost",
            Self::Faulty => "faulty",
        }
    }
}

/// CPU time per unit of work as netperf defines it: busy time of the whole host, per KB (1024
/// bytes) received or per transaction.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServiceDemand {
    /// Client's host, µs of CPU per KB.
    pub client_us_per_kb: Option<f64>,
    /// Server's host, µs of CPU per KB; absent when both ends share a host, whose busy time the
    /// client's figure has in full.
    pub server_us_per_kb: Option<f64>,
    /// Client's host, µs of CPU per transaction.
    pub client_us_per_transaction: Option<f64>,
    /// Server's host, µs of CPU per transaction; absent as above.
    pub server_us_per_transaction: Option<f64>,
    /// Both ends' figures are one: they share a host.
    pub shared_host: bool,
}

/// Pairs of endpoints that flooded the same switch during a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbours {
    /// How many.
    pub pairs: u32,
    /// Bytes of their datagrams.
    pub message_bytes: u32,
    /// Payload that they sent, all together, in Mbit/s.
    pub offered_mbps: f64,
    /// Payload that arrived at their far ends.
    pub goodput_mbps: f64,
}

/// Result of one repeat of one test.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SockResult {
    /// Schema version.
    pub schema: u32,
    /// The cell it belongs to: path, test, message size and what else is not as usual.
    #[serde(default)]
    pub cell: String,
    /// What lies between the endpoints: `veth`, `bridge`, or the server's address.
    pub path: String,
    /// IP version of the data flows.
    pub family: Family,
    /// The test.
    #[serde(flatten)]
    pub spec: SockSpec,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Neighbours on the same switch; absent when there were none.
    pub neighbours: Option<Neighbours>,
    /// How it ended.
    pub ending: Ending,
    /// Time the figures stand for, in seconds.
    pub elapsed_s: f64,
    /// Transactions per second.
    pub transactions_per_s: Option<f64>,
    /// Payload the receiver got, in Mbit/s (10^6 bits).
    pub goodput_mbps: Option<f64>,
    /// Payload the sender gave to its kernel, in Mbit/s; UDP streams only.
    pub offered_mbps: Option<f64>,
    /// Time of a transaction; with a rate, from the time it should have been sent.
    pub latency_us: Option<LatencySummary>,
    /// Requests of a request/response test.
    pub requests: Option<RequestCounts>,
    /// Datagrams the receiver got.
    pub datagrams: Option<DatagramCounts>,
    /// Datagrams or requests lost, of those sent.
    pub loss_ratio: Option<LossRatio>,
    /// CPU time per unit of work.
    pub service_demand: Option<ServiceDemand>,
    /// RFC 6349 §4.2: payload not sent again, of all payload sent, `0.0..=1.0`; TCP streams only.
    pub tcp_efficiency_ratio: Option<f64>,
    /// RFC 6349 §4.3: mean round trip during the test over the smallest one, less one; TCP
    /// streams only.
    pub buffer_delay_ratio: Option<f64>,
    /// What the client counted.
    pub client: EndReport,
    /// What the server counted; absent when it went away.
    pub server: Option<EndReport>,
    /// Explanations, most important first.
    pub notes: Vec<Note>,
}

impl SockResult {
    /// The figure repeats are compared by: transactions per second, or goodput in Mbit/s.
    pub fn headline(&self) -> Option<f64> {
        self.transactions_per_s.or(self.goodput_mbps)
    }
}

/// Confidence interval of the mean of repeats, by Student's t.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// Level in per cent: 90, 95 or 99.
    pub level_percent: u32,
    /// Asked width of the whole interval, in per cent of the mean, as netperf's `-I` counts.
    pub asked_width_percent: f64,
    /// Width of the whole interval reached, in per cent of the mean; absent with fewer than two
    /// repeats.
    pub width_percent: Option<f64>,
    /// Whether it is as narrow as asked.
    pub reached: bool,
}

/// One step of a saturation curve.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SaturationPoint")]
pub struct CurvePoint {
    /// Pairs at once.
    pub parallel: u32,
    /// Transactions/s, or goodput in Mbit/s.
    pub rate: f64,
    /// 99th percentile of the time of a transaction.
    pub p99_us: Option<f64>,
    /// CPUs' worth of busy time of the client's host.
    pub client_busy_cpus: Option<f64>,
    /// The same of the server's host, such as a guest; absent when both ends share one.
    pub server_busy_cpus: Option<f64>,
}

/// All repeats of one test, or its saturation curve.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SockSeries {
    /// Name: `veth/tcp_rr/64`.
    pub name: String,
    /// Repeats in order.
    pub results: Vec<SockResult>,
    /// Spread of transactions/s or goodput over the repeats.
    pub headline: Option<Spread>,
    /// Confidence interval, when asked for.
    pub confidence: Option<Confidence>,
    /// Steps of the saturation search, fewest pairs first, when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub curve: Vec<CurvePoint>,
    /// Pairs beyond which the rate stopped growing.
    pub saturated_at: Option<u32>,
}

/// What `nicety sock --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SockReport {
    /// Schema version.
    pub schema: u32,
    /// Version of nicety.
    pub version: String,
    /// One entry per test, message size and number of flows.
    pub series: Vec<SockSeries>,
    /// What holds for all of them.
    pub notes: Vec<Note>,
}
