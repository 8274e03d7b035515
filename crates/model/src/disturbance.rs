//! Other programs, and the hypervisor, that used the CPUs during a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Disturbances of a visit.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// Time per second in which CPUs of the tester or the path stood still, summed over these
    /// CPUs, in ms; absent where stalls were not measured.
    pub stalls_ms_per_s: Option<f64>,
    /// Programs beside tester and path that used CPU time, most first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub programs: Vec<Program>,
}

/// A program that used CPU time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Name, as in /proc/PID/comm.
    pub name: String,
    /// Process.
    pub pid: u32,
    /// CPUs' worth of time: 0.5 is half of one CPU.
    pub cpus: f64,
}
