//! CPUs: seats, nodes, frequency, idle states.

use std::collections::BTreeMap;

use nicety_model::Fingerprint;
use nicety_model::cpu_list::parse_cpu_list;
use nicety_model::facts::{CpuFacts, CpuIdle, CpuSeatFacts, IdleState, NodeFacts};

use crate::roots::{Roots, SysRoot};
use crate::topology::Topology;

const CPUS: &str = "devices/system/cpu";

/// What the topology reader tells, and what hangs on each CPU. `host` has the governors and
/// mitigations already.
pub(super) fn read(roots: &Roots, host: &Fingerprint) -> CpuFacts {
    let sys = &roots.sys;
    let topology = Topology::read(&roots.proc, sys).unwrap_or_default();
    let list = |file: &str| {
        sys.text(format!("{CPUS}/{file}"))
            .and_then(|text| parse_cpu_list(&text))
            .unwrap_or_default()
    };
    let nohz_full = list("nohz_full");
    let online = topology.online();
    let reserved = |cpu: &u32| topology.isolated.contains(cpu) || nohz_full.contains(cpu);
    let policy = |file: &str| {
        let of = |&cpu: &u32| {
            let text = sys.text(format!("{CPUS}/cpu{cpu}/cpufreq/{file}"))?;
            Some((cpu, text))
        };
        online
            .iter()
            .filter_map(of)
            .collect::<BTreeMap<u32, String>>()
    };
    CpuFacts {
        cpus: topology
            .cpus
            .iter()
            .map(|(&cpu, seat)| CpuSeatFacts {
                cpu,
                core: seat.core,
                socket: seat.socket,
                node: seat.node,
            })
            .collect(),
        nodes: topology
            .nodes
            .iter()
            .map(|(&number, cpus)| node(sys, number, cpus))
            .collect(),
        housekeeping: online
            .iter()
            .copied()
            .filter(|cpu| !reserved(cpu))
            .collect(),
        isolated: topology.isolated.clone(),
        nohz_full,
        frequency_driver: policy("scaling_driver").into_values().next(),
        governor: host
            .governor
            .iter()
            .filter_map(|(cpu, governor)| Some((cpu.parse().ok()?, governor.clone())))
            .collect(),
        energy_preference: policy("energy_performance_preference"),
        idle_driver: sys.text(format!("{CPUS}/cpuidle/current_driver")),
        idle: online.iter().filter_map(|&cpu| idle(sys, cpu)).collect(),
        mitigations: host.mitigations.clone(),
    }
}

fn node(sys: &SysRoot, node: u32, cpus: &[u32]) -> NodeFacts {
    let dir = format!("devices/system/node/node{node}");
    // Only the two lines that are used: the rest changes with every read.
    let meminfo = sys.text_as(format!("{dir}/meminfo"), |text| {
        let wanted = |line: &&str| line.contains("MemTotal:") || line.contains("MemFree:");
        text.lines().filter(wanted).collect::<Vec<_>>().join("\n")
    });
    let mib = |key: &str| {
        let line = meminfo
            .as_deref()?
            .lines()
            .find(|line| line.contains(key))?;
        let kib: u64 = line.split_ascii_whitespace().rev().nth(1)?.parse().ok()?;
        Some(kib / 1024)
    };
    let distance = sys.text(format!("{dir}/distance")).unwrap_or_default();
    NodeFacts {
        node,
        cpus: cpus.to_vec(),
        memory_mib: mib("MemTotal:"),
        free_mib: mib("MemFree:"),
        distance: distance
            .split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect(),
    }
}

pub(super) fn idle(sys: &SysRoot, cpu: u32) -> Option<CpuIdle> {
    let dir = format!("{CPUS}/cpu{cpu}/cpuidle");
    let names = sys.entries_where(&dir, |name| name.starts_with("state"));
    let mut states: Vec<(u32, IdleState)> = names
        .iter()
        .filter_map(|name| {
            let text = |file: &str| sys.text(format!("{dir}/{name}/{file}"));
            let state = IdleState {
                name: text("name")?,
                latency_us: text("latency")?.parse().ok()?,
                disabled: text("disable").is_some_and(|text| text != "0"),
                usage: text("usage").and_then(|text| text.parse().ok()),
            };
            Some((name.strip_prefix("state")?.parse().ok()?, state))
        })
        .collect();
    states.sort_by_key(|(number, _)| *number);
    if states.is_empty() {
        return None;
    }
    Some(CpuIdle {
        cpu,
        states: states.into_iter().map(|(_, state)| state).collect(),
        // `n/a` forbids every state, 0 means no limit (Documentation/ABI/testing/
        // sysfs-devices-power).
        latency_limit_us: match sys
            .text(format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us"))?
            .as_str()
        {
            "n/a" => Some(0),
            text => text.parse().ok().filter(|&limit| limit > 0),
        },
    })
}
