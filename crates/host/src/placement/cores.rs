//! Physical cores in the order in which they are handed out.

use std::collections::BTreeMap;

use crate::topology::Topology;

/// The CPU of the system's housekeeping: timers, most interrupts, unbound kernel work.
pub(super) const HOUSEKEEPING: u32 = 0;

/// A physical core and its usable CPUs in the order of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Core {
    pub id: u32,
    pub cpus: Vec<u32>,
    pub node: Option<u32>,
    pub isolated: bool,
}

/// Cores for `needed` CPUs: of one node when its cores (else its CPUs) suffice, the core of
/// CPU 0 only when needed, and CPU 0 itself last.
pub(super) fn preferred(topology: &Topology, needed: usize, nic_node: Option<u32>) -> Vec<Core> {
    let mut cores = all(topology);
    let home = nic_node.filter(|node| cores.iter().any(|core| core.node == Some(*node)));
    let isolated: Vec<Core> = cores.iter().filter(|core| core.isolated).cloned().collect();
    let home = home
        .or_else(|| roomiest(&isolated, needed))
        .or_else(|| roomiest(&cores, needed));
    // Isolated cores first, the home node before the others, then by number.
    cores.sort_by_key(|core| (core.node != home, !core.isolated, core.id));
    let spared = without_housekeeping_core(&cores);
    let node_of = |cores: &[Core]| -> Vec<Core> {
        let own = cores.iter().filter(|core| core.node == home);
        own.cloned().collect()
    };
    let sets = [
        node_of(&spared),
        node_of(&cores),
        spared.clone(),
        cores.clone(),
    ];
    let whole = sets.iter().find(|set| set.len() >= needed);
    let threads = || sets.iter().find(|set| cpus_in(set) >= needed);
    match whole.or_else(threads) {
        Some(set) => housekeeping_last(set.clone(), needed),
        None => housekeeping_last(cores, needed),
    }
}

fn cpus_in(cores: &[Core]) -> usize {
    cores.iter().map(|core| core.cpus.len()).sum()
}

fn all(topology: &Topology) -> Vec<Core> {
    let mut by_core: BTreeMap<u32, Core> = BTreeMap::new();
    for &cpu in &topology.allowed {
        let seat = topology.cpus.get(&cpu).copied().unwrap_or_default();
        let id = if topology.cpus.contains_key(&cpu) {
            seat.core
        } else {
            cpu
        };
        let core = by_core.entry(id).or_insert_with(|| Core {
            id,
            cpus: Vec::new(),
            node: seat.node,
            isolated: true,
        });
        core.cpus.push(cpu);
        core.isolated &= topology.isolated.contains(&cpu);
    }
    by_core.into_values().collect()
}

/// The first node with enough cores beside CPU 0's, else the one with most.
fn roomiest(cores: &[Core], needed: usize) -> Option<u32> {
    let mut room: BTreeMap<u32, usize> = BTreeMap::new();
    for core in without_housekeeping_core(cores) {
        if let Some(node) = core.node {
            *room.entry(node).or_default() += 1;
        }
    }
    let enough = room.iter().find(|(_, count)| **count >= needed);
    // `max_by_key` keeps the last of equals: walk backwards for the first.
    let most = || room.iter().rev().max_by_key(|(_, count)| **count);
    enough.or_else(most).map(|(&node, _)| node)
}

fn without_housekeeping_core(cores: &[Core]) -> Vec<Core> {
    let others = cores
        .iter()
        .filter(|core| !core.cpus.contains(&HOUSEKEEPING));
    others.cloned().collect()
}

/// Moves CPU 0 behind its siblings, and takes it out when the rest suffice.
fn housekeeping_last(mut cores: Vec<Core>, needed: usize) -> Vec<Core> {
    let enough = cpus_in(&cores) > needed;
    for core in &mut cores {
        if core.cpus.len() > 1 && core.cpus.first() == Some(&HOUSEKEEPING) {
            core.cpus.rotate_left(1);
            if enough {
                core.cpus.pop();
            }
        }
    }
    cores
}
