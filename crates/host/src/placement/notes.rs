//! A placement in words.

use std::collections::BTreeSet;

use nicety_model::Note;
use nicety_model::note::MachineNote;

use super::cores::HOUSEKEEPING;
use super::{Placement, Role, Wants};
use crate::topology::Topology;

/// Who has which CPU, then what that costs.
pub(super) fn notes(topology: &Topology, wants: Wants, placement: &Placement) -> Vec<Note> {
    let mut notes = vec![who_has_what(topology, placement)];
    notes.extend(siblings(topology, placement));
    notes.extend(nodes(topology, wants, placement));
    notes.extend(path_doubled(wants, placement));
    notes.extend(quota(topology, placement));
    notes.extend(isolated(topology));
    notes.extend(rests(placement));
    if topology.allowed.len() > 1 && placement.all_cpus().contains(&HOUSEKEEPING) {
        let cpu = HOUSEKEEPING;
        notes.push(MachineNote::Housekeeping { cpu });
    }
    notes.into_iter().map(Note::from).collect()
}

fn who_has_what(topology: &Topology, placement: &Placement) -> MachineNote {
    let count = topology.allowed.len();
    if placement.shared {
        let cpus = sorted(placement.path.clone());
        return MachineNote::CpusShared { count, cpus };
    }
    let of = |role: Role| {
        let workers = placement.tester.iter();
        let own = workers.filter(|worker| [role, Role::Both].contains(&worker.role));
        sorted(own.map(|worker| worker.cpu).collect())
    };
    MachineNote::Cpus {
        count,
        transmit: of(Role::Transmit),
        receive: of(Role::Receive),
        path: sorted(placement.path.clone()),
    }
}

fn sorted(mut cpus: Vec<u32>) -> Vec<u32> {
    cpus.sort_unstable();
    cpus
}

/// Cores on which more than one of the chosen CPUs lie.
fn siblings(topology: &Topology, placement: &Placement) -> Option<MachineNote> {
    let chosen = placement.all_cpus();
    let shared: BTreeSet<Vec<u32>> = chosen
        .iter()
        .map(|&cpu| {
            let mut of_core = topology.siblings(cpu);
            of_core.retain(|sibling| chosen.contains(sibling));
            of_core
        })
        .filter(|of_core| of_core.len() > 1)
        .collect();
    if shared.is_empty() {
        return None;
    }
    let tester: BTreeSet<u32> = placement.tester.iter().map(|worker| worker.cpu).collect();
    let between = shared.iter().any(|of_core| {
        of_core.iter().any(|cpu| tester.contains(cpu))
            && of_core.iter().any(|cpu| placement.path.contains(cpu))
    });
    Some(MachineNote::Siblings {
        cores: shared.into_iter().collect(),
        across: between,
    })
}

fn nodes(topology: &Topology, wants: Wants, placement: &Placement) -> Option<MachineNote> {
    let node_of = |cpu: &u32| topology.cpus.get(cpu).and_then(|seat| seat.node);
    let used: BTreeSet<u32> = placement.all_cpus().iter().filter_map(node_of).collect();
    let nodes: Vec<u32> = used.iter().copied().collect();
    match wants.nic_node {
        _ if used.len() > 1 => Some(MachineNote::NodesCrossed { nodes }),
        Some(nic_node) if !used.is_empty() && !used.contains(&nic_node) => {
            Some(MachineNote::NicNodeUnused { nic_node, nodes })
        }
        _ => None,
    }
}

fn path_doubled(wants: Wants, placement: &Placement) -> Option<MachineNote> {
    let has = placement.path.len();
    (!placement.shared && has < wants.path).then(|| MachineNote::PathCpusShared {
        workers: wants.path,
        cpus: sorted(placement.path.clone()),
    })
}

fn quota(topology: &Topology, placement: &Placement) -> Option<MachineNote> {
    let quota = topology.quota_cpus?;
    let chosen = placement.all_cpus().len() as f64;
    (quota < chosen).then_some(MachineNote::Quota { cpus: quota })
}

fn rests(placement: &Placement) -> Option<MachineNote> {
    placement.rests.then_some(MachineNote::NoCpuLeft)
}

fn isolated(topology: &Topology) -> Option<MachineNote> {
    let mut unreachable = topology.isolated.clone();
    unreachable.retain(|cpu| !topology.allowed.contains(cpu) && topology.cpus.contains_key(cpu));
    (!unreachable.is_empty()).then_some(MachineNote::Isolated { cpus: unreachable })
}
