//! Who else had the CPUs while a number was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What disturbed a visit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// Time per second in which CPUs of the tester or the path stood still, summed over these
    /// CPUs, in ms; absent where nobody watched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
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
