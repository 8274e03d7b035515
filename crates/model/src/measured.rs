//! Changes measured before and after: their gain, and whether they were kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::knob::Change;

/// Target to improve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredTarget {
    /// Frames per second within the loss goal: more is better.
    Throughput,
    /// Most frames per second that came through in any trial, at any load and loss
    /// (RFC 2285 3.6.3, maximum forwarding rate): more is better. It needs no search that ends,
    /// which a busy or emulated machine may not have.
    ForwardingRate,
    /// 99th percentile of latency: less is better.
    LatencyP99,
}

/// Whether the changes were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredDecision {
    /// They gained, and more than noise explains.
    Kept,
    /// No gain is proved: undone.
    NoEffect,
    /// They cost more than noise explains: undone.
    Worse,
    /// Cannot tell: a cell still has no number in some measurement after its repeats, or none has
    /// any. Undone.
    NotMeasured,
}

/// Gain, noise and what follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredGain {
    /// Geometric mean after over the one before, less one; of latency, before over after.
    pub gain: f64,
    /// The gain that one standard deviation of a single measurement's logarithm makes: noise is in
    /// proportion to what it disturbs. For little noise the standard deviation as a share.
    pub sigma: f64,
    /// Where the gain lies with a confidence of 95 % (Student), lower end first. Absent in results of
    /// versions that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<[f64; 2]>,
}

/// One trial of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MeasuredLoad")]
pub struct CurvePoint {
    /// Load in frames per second.
    pub load_fps: f64,
    /// Lost over sent.
    pub loss_ratio: f64,
}

/// Meaning of a cell's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredUnit {
    /// Frames per second.
    #[default]
    FramesPerS,
    /// Transactions per second.
    TransactionsPerS,
    /// Goodput in Mbit/s.
    GoodputMbps,
    /// 99th percentile of latency in µs.
    P99Us,
}

/// One repeat of a socket test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatePoint {
    /// Pairs at once.
    pub parallel: u32,
    /// Transactions per second, or goodput in Mbit/s.
    pub rate: f64,
}

/// One cell or socket test of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredCell {
    /// Name.
    pub cell: String,
    /// Meaning of its numbers.
    #[serde(default)]
    pub unit: MeasuredUnit,
    /// The target, one value per measurement before.
    pub before: Vec<f64>,
    /// The same after.
    pub after: Vec<f64>,
    /// Trials of the searches before.
    pub curve_before: Vec<CurvePoint>,
    /// Trials of the searches after.
    pub curve_after: Vec<CurvePoint>,
    /// Repeats of a socket test before.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rates_before: Vec<RatePoint>,
    /// Repeats of a socket test after.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rates_after: Vec<RatePoint>,
}

/// What `nicety tune apply --measure` found.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Schema version.
    pub schema: u32,
    /// Target to improve.
    pub target: MeasuredTarget,
    /// The changes.
    pub changes: Vec<Change>,
    /// Cells that have a number on every side.
    pub cells: Vec<MeasuredCell>,
    /// Cells that failed in some measurement and in its repetitions: with one of these nothing
    /// is kept.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failed: Vec<String>,
    /// Over all cells; absent when none has numbers.
    pub gain: Option<MeasuredGain>,
    /// Whether the changes were kept.
    pub decision: MeasuredDecision,
}
