//! Results of `nicety compare`: old numbers beside new ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cell::CellKey;
use crate::note::Note;
use crate::sock::SockTest;
use crate::verdict::Verdict;

crate::keywords::keywords! {
    /// Compared metric of a cell.
    Metric {
        /// Throughput in frames per second; of sockets transactions per second or goodput. More is
        /// better.
        Throughput = "throughput",
        /// Median one-way latency in µs at the highest share of the throughput; of sockets the time
        /// of a transaction. Less is better.
        LatencyP50 = "latency-p50",
        /// 99th percentile of it.
        LatencyP99 = "latency-p99",
        /// CPU time of the path per frame received, in µs; of sockets the service demand of both
        /// hosts together. Less is better.
        Cpu = "cpu",
    }
}

impl Metric {
    /// Its unit for a cell of this name: that of a socket workload has the test after the path.
    pub fn unit(self, cell: &str) -> &'static str {
        let test = cell.split('/').nth(1).and_then(|word| word.parse().ok());
        match (self, test.map(SockTest::has_transactions)) {
            (Self::Throughput, None) => "frames/s",
            (Self::Throughput, Some(true)) => "transactions/s",
            (Self::Throughput, Some(false)) => "Mbit/s",
            (Self::LatencyP50 | Self::LatencyP99, _) => "µs",
            (Self::Cpu, None) => "µs/frame",
            (Self::Cpu, Some(true)) => "µs/transaction",
            (Self::Cpu, Some(false)) => "µs/KB",
        }
    }

    /// Whether a larger number is the better one.
    pub fn more_is_better(self) -> bool {
        self == Self::Throughput
    }
}

/// Judgement of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The new number is better, by more than the margin and by more than chance.
    Better,
    /// The difference is within the margin.
    Same,
    /// The new number is worse, by more than the margin and by more than chance.
    Worse,
    /// The numbers spread too much, or there are too few of them.
    CannotTell,
    /// One of the numbers has a verdict that forbids a judgement.
    NotJudged,
}

impl Judgement {
    /// The words used in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "worse",
            Self::CannotTell => "cannot tell",
            Self::NotJudged => "not judged",
        }
    }
}

/// Where the spread behind an interval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadOf {
    /// From the repeats of the cell.
    Repeats,
    /// From one mean per run: each side has several runs.
    Runs,
    /// From the visits of the control cell, because a side has a single number.
    ControlCell,
}

impl SpreadOf {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Repeats => "repeats",
            Self::Runs => "runs",
            Self::ControlCell => "control cell",
        }
    }
}

/// One side of a comparison: the runs taken together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ComparedSide")]
pub struct Side {
    /// The runs, in the order given.
    pub runs: Vec<RunLabel>,
}

/// Which run it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunLabel {
    /// Where it was read from.
    pub source: String,
    /// Name of the plan.
    pub name: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
}

/// A difference between the machines or the testers that could explain a difference of results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What differs.
    pub what: String,
    /// Before; several values of several runs are joined by ` | `.
    pub old: String,
    /// After.
    pub new: String,
}

/// The numbers of one side of a cell.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Geometric mean; absent without any number.
    pub mean: Option<f64>,
    /// Smallest number.
    pub min: Option<f64>,
    /// Largest number.
    pub max: Option<f64>,
    /// Repeats with a number, over all runs.
    pub repeats: u32,
    /// Runs they come from.
    pub runs: u32,
    /// Worst verdict among all repeats.
    pub verdict: Verdict,
}

/// New over old, with its confidence interval.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Ratio of the geometric means.
    pub ratio: f64,
    /// Lower end of the interval; absent when no spread is known.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Two-sided p-value of "no difference", adjusted for the number of rows (Benjamini and
    /// Hochberg 1995).
    pub p_adjusted: Option<f64>,
    /// Where the spread comes from.
    pub spread_of: Option<SpreadOf>,
}

/// One number of a cell that both sides have.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCell {
    /// Name of the cell.
    pub cell: String,
    /// The cell's parameters; absent for a socket workload, whose name has them all.
    #[serde(flatten, default)]
    pub key: Option<CellKey>,
    /// Metric.
    pub metric: Metric,
    /// Unit of the numbers: `frames/s`, `transactions/s`, `Mbit/s`, `µs`, `µs/frame`,
    /// `µs/transaction`, `µs/KB`.
    pub unit: String,
    /// Before.
    pub old: Sample,
    /// After.
    pub new: Sample,
    /// After over before; absent when a side has no number.
    pub ratio: Option<Ratio>,
    /// Judgement.
    pub judgement: Judgement,
    /// Why, when it is neither better, same nor worse.
    pub reason: Option<String>,
    /// Whether the cell had an `ok` result before and has none now.
    #[serde(default)]
    pub lost: bool,
}

/// How many rows came out how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Better.
    pub better: u32,
    /// Same.
    pub same: u32,
    /// Worse.
    pub worse: u32,
    /// Cannot tell.
    pub cannot_tell: u32,
    /// Not judged, lost ones included.
    pub not_judged: u32,
    /// Had an `ok` result before and none now.
    pub lost: u32,
}

impl Counts {
    /// Whether something got worse: a worse number, or a result that is gone.
    pub fn regression(self) -> bool {
        self.worse > 0 || self.lost > 0
    }
}

/// What `nicety compare` finds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Schema version.
    pub schema: u32,
    /// Before.
    pub old: Side,
    /// After.
    pub new: Side,
    /// Search preset of both.
    pub preset: String,
    /// Loss goal of both.
    pub loss_goal: f64,
    /// Confidence of the intervals and of the judgement, `0.0..1.0`.
    pub confidence: f64,
    /// Differences up to this ratio do not matter, as in `0.03`.
    pub margin: f64,
    /// Differences between the machines and testers, the likeliest explanation first.
    pub differences: Vec<Difference>,
    /// The rows, in the order of the old run.
    pub cells: Vec<ComparedCell>,
    /// Cells only the old side has.
    pub only_old: Vec<String>,
    /// Cells only the new side has.
    pub only_new: Vec<String>,
    /// How many rows came out how.
    pub counts: Counts,
    /// What a reader should know.
    pub notes: Vec<Note>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_that_of_what_was_measured() {
        for (cell, throughput, cpu) in [
            ("bridge/64/uni", "frames/s", "µs/frame"),
            ("bridge/tcp_rr/64", "transactions/s", "µs/transaction"),
            (
                "vm,nic=e1000/tcp_crr/1/ipv6",
                "transactions/s",
                "µs/transaction",
            ),
            ("ovs/udp_stream/1472/neighbours=2", "Mbit/s", "µs/KB"),
        ] {
            assert_eq!(Metric::Throughput.unit(cell), throughput);
            assert_eq!(Metric::Cpu.unit(cell), cpu);
            assert_eq!(Metric::LatencyP99.unit(cell), "µs");
        }
    }
}
