//! A whole run: tester, machine and results.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cell::{CellResult, SkippedCell};
use crate::disturbance::Disturbance;
use crate::estimate::Estimate;
use crate::goal::GoalSummary;
use crate::limit::{self, LimitKey};
use crate::note::Note;
use crate::remedy::Advised;
use crate::sock::SockSeries;
use crate::stats::Spread;
use crate::trial::TrialRecord;
use crate::verdict::Verdict;
use crate::waterfall::Waterfall;

/// Facts about the machine at the time of the run: `host.json` (RFC 8204 §3.3 lists what to
/// record). Absent means unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint {
    /// Version of nicety.
    pub nicety: String,
    /// Name of the host; absent when it is not to be published, and in runs older than it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hostname: Option<String>,
    /// What the user calls this host or this run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<String>,
    /// Whether the run had root's rights on the host, or only in its own user namespace.
    pub privileged: bool,
    /// Kernel release.
    pub kernel: String,
    /// Kernel command line.
    pub cmdline: String,
    /// Distribution.
    pub os: Option<String>,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus: u32,
    /// CPU numbers nicety may run on.
    pub cpus_allowed: Vec<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// NUMA nodes: CPUs of each.
    pub numa: BTreeMap<String, Vec<u32>>,
    /// SMT state as the kernel words it.
    pub smt: Option<String>,
    /// cpufreq governor of each CPU; empty when the kernel has none.
    pub governor: BTreeMap<String, String>,
    /// Vulnerability name to mitigation.
    pub mitigations: BTreeMap<String, String>,
    /// Isolated CPUs.
    pub isolated: Vec<u32>,
    /// Hypervisor the machine runs on, when it is itself a guest.
    pub hypervisor: Option<String>,
    /// Clock source.
    pub clocksource: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// Huge pages reserved, by size in KiB.
    pub hugepages: BTreeMap<String, u64>,
    /// Network settings that matter to a forwarding path, by sysctl name.
    pub sysctl: BTreeMap<String, String>,
    /// Ports and path interfaces: facts by interface name.
    pub interfaces: BTreeMap<String, InterfaceFacts>,
    /// BIOS or firmware version.
    pub bios: Option<String>,
}

/// What a host is called in results, so that those of several hosts can be told apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Naming {
    /// Its name; absent when it is not to be published.
    pub hostname: Option<String>,
    /// What the user calls it.
    pub label: Option<String>,
}

impl Naming {
    /// `web01 · nightly`: name and label, or the one that there is.
    pub fn called(&self) -> Option<String> {
        called([&self.hostname, &self.label])
    }
}

fn called(words: [&Option<String>; 2]) -> Option<String> {
    let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
    (!words.is_empty()).then(|| words.join(" · "))
}

impl Fingerprint {
    /// Takes the host's name and label.
    pub fn name(&mut self, naming: Naming) {
        (self.hostname, self.label) = (naming.hostname, naming.label);
    }

    /// As [`Naming::called`].
    pub fn called(&self) -> Option<String> {
        called([&self.hostname, &self.label])
    }
}

crate::keywords::keywords! {
    /// Why a run stopped before every cell had its result.
    StoppedBy {
        /// Its user stopped it.
        Interruption = "interruption",
        /// The rest did not fit in the time box.
        TimeBox = "time-box",
    }
}

/// Facts about one interface. Absent means unknown or not applicable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceFacts {
    /// Driver.
    pub driver: Option<String>,
    /// Driver version.
    pub driver_version: Option<String>,
    /// Firmware version.
    pub firmware: Option<String>,
    /// Bus address.
    pub bus: Option<String>,
    /// NUMA node.
    pub numa_node: Option<i32>,
    /// Link speed in Mbit/s as the driver reports it.
    pub speed_mbps: Option<u32>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Hardware address.
    pub mac: Option<String>,
    /// Transmit and receive queues.
    pub queues: Option<String>,
    /// Offloads that are on.
    pub offloads: Vec<String>,
}

/// A cell's repeats together.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellSummary {
    /// Name of the cell.
    pub cell: String,
    /// The result in frames per second and direction: the median of the visits, in runs older than intervals their
    /// average.
    #[serialize_always]
    pub throughput_fps: Option<f64>,
    /// Throughput of the visits that have one.
    pub spread_fps: Option<Spread>,
    /// The result with its interval; absent in runs older than it.
    pub estimate: Option<Estimate>,
    /// Median of the visits' capacity, in frames per second and direction.
    pub capacity_fps: Option<f64>,
    /// Other users of the CPUs during the visits, on average.
    pub disturbance: Option<Disturbance>,
    /// Verdict of the repeats together.
    pub verdict: Verdict,
    /// Why the verdict is not `ok`, the most important reason first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub why: Vec<Note>,
    /// The same for each of several goals, strictest first; empty where the plan has one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub goals: Vec<GoalSummary>,
}

/// The control cell's visits, for drift.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlSummary {
    /// Name of the control cell.
    pub cell: String,
    /// Throughput of each visit that has one, in order of time.
    pub throughput_fps: Vec<f64>,
    /// Visits without a throughput.
    #[serde(default)]
    pub failed: u32,
    /// `max / min - 1` over the visits.
    pub drift: f64,
    /// Drift above which the run is called noisy.
    pub drift_limit: f64,
}

/// What `bench --json` prints and every renderer takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Schema version.
    pub schema: u32,
    /// What was asked and where.
    pub run: RunHead,
    /// The tester's own limit without a path, by frame size in bytes.
    #[serde(serialize_with = "limit::in_order_of_text")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub tester_limit_fps: BTreeMap<LimitKey, f64>,
    /// Every visit of every cell, in the order they were measured; the control cell's among them.
    pub visits: Vec<CellResult>,
    /// The control cell's visits beyond its own result.
    #[serde(default)]
    pub control: Option<ControlSummary>,
    /// The paths of all trials of fates as their frames fell through them: worked out from `visits`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waterfalls: Vec<Waterfall>,
    /// The result of every cell over its visits, in the plan's order.
    pub cells: Vec<CellSummary>,
    /// Socket workloads, in the plan's order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sockets: Vec<SockSeries>,
    /// Cells that could not be built here.
    #[serde(default)]
    pub skipped: Vec<SkippedCell>,
    /// Cells the time box or an interruption left out.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// What would make the numbers better, what helps most first, at most three: worked out when a run
    /// is written as JSON, absent in the files of a run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remedies: Vec<Advised>,
    /// Every trial; only renderers that draw curves need them, `--json` leaves them out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub trials: Vec<TrialRecord>,
}

/// Head of a run.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHead {
    /// Name of the plan.
    pub name: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Wall time so far in seconds, over all sessions.
    pub elapsed_s: f64,
    /// Seed of the random cell order.
    pub seed: u64,
    /// Search preset.
    pub preset: String,
    /// How loads were judged and searched; absent where whole trials were judged, as in all runs
    /// older than this key.
    pub estimator: Option<String>,
    /// Loss goal.
    pub loss_goal: f64,
    /// Command line to repeat the run.
    pub command: String,
    /// Whether every cell of the plan has a result.
    pub complete: bool,
    /// Why it stopped before; absent when it did not, when it was killed, and in runs older than this key.
    pub stopped_by: Option<StoppedBy>,
    /// The machine.
    pub host: Fingerprint,
    /// Notes on the whole run: what this user or machine cannot do.
    #[serde(default)]
    pub notes: Vec<Note>,
}
