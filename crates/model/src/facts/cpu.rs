//! CPUs: where they sit, who may use them, how fast they may run and how deep they sleep.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// CPUs of the host.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuFacts {
    /// CPUs online and their seats, by number.
    pub cpus: Vec<CpuSeatFacts>,
    /// NUMA nodes.
    pub nodes: Vec<NodeFacts>,
    /// CPUs the scheduler leaves alone (`isolcpus=`).
    pub isolated: Vec<u32>,
    /// CPUs without a tick (`nohz_full=`).
    pub nohz_full: Vec<u32>,
    /// CPUs that neither isolation nor `nohz_full` takes away: those for everything else.
    pub housekeeping: Vec<u32>,
    /// cpufreq driver, of the first policy.
    pub frequency_driver: Option<String>,
    /// cpufreq governor by CPU number; empty where the kernel or hypervisor has none.
    pub governor: BTreeMap<u32, String>,
    /// Energy preference by CPU number.
    pub energy_preference: BTreeMap<u32, String>,
    /// Idle driver: `intel_idle`, `acpi_idle`, `none`.
    pub idle_driver: Option<String>,
    /// Idle states and who has used them.
    pub idle: Vec<CpuIdle>,
    /// Vulnerability name to mitigation.
    pub mitigations: BTreeMap<String, String>,
}

/// Where one CPU sits.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuSeatFacts {
    /// CPU number.
    pub cpu: u32,
    /// Physical core, named by its lowest CPU number.
    pub core: u32,
    /// Socket.
    pub socket: Option<u32>,
    /// NUMA node.
    pub node: Option<u32>,
}

/// A NUMA node.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NodeFacts {
    /// Number.
    pub node: u32,
    /// CPUs online.
    pub cpus: Vec<u32>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// Free memory in MiB.
    pub free_mib: Option<u64>,
    /// Distance to every node in their order; 10 is itself.
    pub distance: Vec<u32>,
}

/// Idle states of one CPU.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuIdle {
    /// CPU number.
    pub cpu: u32,
    /// States, shallowest first.
    pub states: Vec<IdleState>,
    /// Longest wake-up allowed in µs (`pm_qos_resume_latency_us`); absent when nothing limits it.
    pub latency_limit_us: Option<u32>,
}

/// An idle state.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleState {
    /// Name: `C1E`.
    pub name: String,
    /// Time to wake up, in µs.
    pub latency_us: u32,
    /// Switched off.
    pub disabled: bool,
    /// Times entered since boot.
    pub usage: Option<u64>,
}

impl CpuFacts {
    /// The seat of a CPU.
    pub fn seat(&self, cpu: u32) -> Option<&CpuSeatFacts> {
        self.cpus.iter().find(|seat| seat.cpu == cpu)
    }

    /// Node of a CPU.
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        self.seat(cpu)?.node
    }

    /// CPUs of a node, one per physical core first (its lowest number), then their siblings.
    pub fn cores_first(&self, node: u32) -> Vec<u32> {
        let here = |seat: &&CpuSeatFacts| seat.node == Some(node);
        let first = self.cpus.iter().filter(here).filter(|s| s.cpu == s.core);
        let second = self.cpus.iter().filter(here).filter(|s| s.cpu != s.core);
        first.chain(second).map(|seat| seat.cpu).collect()
    }

    /// Number of physical cores of a node.
    pub fn cores_of(&self, node: u32) -> usize {
        let here = self.cpus.iter().filter(|seat| seat.node == Some(node));
        here.filter(|seat| seat.cpu == seat.core).count()
    }
}
