//! CPUs of the machine: which are online, which this process may use, and how they share
//! cores, sockets and memory.

pub(crate) mod quota;

use nicety_model::cpu_list::parse_cpu_list;
use std::collections::{BTreeMap, BTreeSet};

pub use quota::cpu_quota;

use crate::hardware;
use crate::roots::{FactError, ProcRoot, SysRoot};
use crate::stat::StatSample;

/// Where one CPU sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuSeat {
    /// Its physical core, named by the lowest CPU number of the core: equal for SMT siblings.
    pub core: u32,
    /// Its socket (physical package), when known.
    pub socket: Option<u32>,
    /// Its NUMA node, when known.
    pub node: Option<u32>,
}

/// The CPUs of the machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Topology {
    /// Online CPUs and their seats.
    pub cpus: BTreeMap<u32, CpuSeat>,
    /// CPU numbers this process may run on: its affinity mask (the one that
    /// `sched_getaffinity(2)` returns), as far as it is online. Sorted.
    pub allowed: Vec<u32>,
    /// CPUs of each NUMA node, online ones only.
    pub nodes: BTreeMap<u32, Vec<u32>>,
    /// CPUs the scheduler leaves alone (`isolcpus=`). Sorted.
    pub isolated: Vec<u32>,
    /// CPUs' worth of time the cgroup may use, when it is limited.
    pub quota_cpus: Option<f64>,
    /// This machine is a virtual one.
    pub virtual_machine: bool,
}

impl Topology {
    /// Reads the topology. Call it before pinning the main thread: the affinity mask is that
    /// of the thread group leader (`/proc/self/status`). What the tree does not hold is
    /// guessed downwards: every CPU its own core, no sockets, no nodes.
    ///
    /// # Errors
    /// When neither sysfs nor `/proc/stat` nor the affinity mask names a single CPU.
    pub fn read(proc: &ProcRoot, sys: &SysRoot) -> Result<Self, FactError> {
        let allowed = allowed_cpus(proc);
        let online = match (online_cpus(proc, sys), &allowed) {
            (Some(online), _) => online,
            (None, Some(allowed)) => allowed.clone(),
            (None, None) => {
                let path = sys.path("devices/system/cpu/online");
                return Err(FactError::malformed("the CPUs online", path, ""));
            }
        };
        let nodes = numa_nodes(sys, &online);
        let cpus = online
            .iter()
            .map(|&cpu| (cpu, seat(sys, cpu, &nodes)))
            .collect();
        let mut usable = allowed.unwrap_or_else(|| online.clone());
        usable.retain(|cpu| online.binary_search(cpu).is_ok());
        if usable.is_empty() {
            usable = online;
        }
        Ok(Self {
            cpus,
            allowed: usable,
            nodes,
            isolated: isolated_cpus(sys),
            quota_cpus: cpu_quota(proc, sys),
            virtual_machine: hardware::hypervisor(sys, &proc.text("cpuinfo").unwrap_or_default())
                .is_some(),
        })
    }

    /// CPUs online, sorted.
    pub fn online(&self) -> Vec<u32> {
        self.cpus.keys().copied().collect()
    }

    /// Number of sockets; `None` when no CPU names one.
    pub fn sockets(&self) -> Option<u32> {
        let sockets: BTreeSet<u32> = self.cpus.values().filter_map(|seat| seat.socket).collect();
        u32::try_from(sockets.len()).ok().filter(|&count| count > 0)
    }

    /// Number of physical cores.
    pub fn cores(&self) -> usize {
        let cores: BTreeSet<u32> = self.cpus.values().map(|seat| seat.core).collect();
        cores.len()
    }

    /// The CPUs of a CPU's physical core, itself among them, sorted.
    pub fn siblings(&self, cpu: u32) -> Vec<u32> {
        let Some(own) = self.cpus.get(&cpu) else {
            return vec![cpu];
        };
        self.cpus
            .iter()
            .filter(|(_, seat)| seat.core == own.core)
            .map(|(&other, _)| other)
            .collect()
    }
}

/// CPUs online by sysfs, else by the lines of `/proc/stat`.
fn online_cpus(proc: &ProcRoot, sys: &SysRoot) -> Option<Vec<u32>> {
    let listed = sys
        .text("devices/system/cpu/online")
        .and_then(|text| parse_cpu_list(&text))
        .filter(|cpus| !cpus.is_empty());
    listed.or_else(|| {
        let stat = StatSample::read(proc).ok()?;
        let cpus: Vec<u32> = stat.cpus.keys().copied().collect();
        (!cpus.is_empty()).then_some(cpus)
    })
}

fn allowed_cpus(proc: &ProcRoot) -> Option<Vec<u32>> {
    let status = proc.text("self/status")?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_cpu_list(list).filter(|cpus| !cpus.is_empty())
}

fn isolated_cpus(sys: &SysRoot) -> Vec<u32> {
    sys.text("devices/system/cpu/isolated")
        .and_then(|text| parse_cpu_list(&text))
        .unwrap_or_default()
}

fn numa_nodes(sys: &SysRoot, online: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    sys.entries("devices/system/node")
        .iter()
        .filter_map(|name| {
            let node: u32 = name.strip_prefix("node")?.parse().ok()?;
            let list = sys.text(format!("devices/system/node/node{node}/cpulist"))?;
            let mut cpus = parse_cpu_list(&list)?;
            cpus.retain(|cpu| online.binary_search(cpu).is_ok());
            Some((node, cpus))
        })
        .filter(|(_, cpus)| !cpus.is_empty())
        .collect()
}

fn seat(sys: &SysRoot, cpu: u32, nodes: &BTreeMap<u32, Vec<u32>>) -> CpuSeat {
    let dir = format!("devices/system/cpu/cpu{cpu}/topology");
    // core_cpus_list is the newer name (kernel 5.3).
    let core = ["core_cpus_list", "thread_siblings_list"]
        .iter()
        .find_map(|file| parse_cpu_list(&sys.text(format!("{dir}/{file}"))?))
        .filter(|siblings| siblings.contains(&cpu))
        .and_then(|siblings| siblings.first().copied())
        .unwrap_or(cpu);
    // A package id of -1 means the firmware did not say.
    let socket = sys
        .text(format!("{dir}/physical_package_id"))
        .and_then(|text| text.parse().ok());
    let node = nodes
        .iter()
        .find(|(_, cpus)| cpus.contains(&cpu))
        .map(|(&node, _)| node);
    CpuSeat { core, socket, node }
}
