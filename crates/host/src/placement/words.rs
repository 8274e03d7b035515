//! A placement in words.

use std::collections::BTreeSet;

use super::cores::HOUSEKEEPING;
use super::{Placement, Role, Wants};
use nicety_model::cpu_list::format_cpu_list;

use crate::topology::Topology;

/// Who has which CPU, then what that costs.
pub(super) fn notes(topology: &Topology, wants: Wants, placement: &Placement) -> Vec<String> {
    let mut notes = vec![who_has_what(topology, placement)];
    notes.extend(siblings(topology, placement));
    notes.extend(nodes(topology, wants, placement));
    notes.extend(path_doubled(wants, placement));
    notes.extend(quota(topology, placement));
    notes.extend(isolated(topology));
    notes.extend(rests(placement));
    if topology.allowed.len() > 1 && placement.all_cpus().contains(&HOUSEKEEPING) {
        notes.push(format!(
            "CPU {HOUSEKEEPING} is in use here and does the system's housekeeping too"
        ));
    }
    notes
}

fn who_has_what(topology: &Topology, placement: &Placement) -> String {
    let count = topology.allowed.len();
    let head = match count {
        1 => "1 CPU".to_owned(),
        _ => format!("{count} CPUs"),
    };
    if placement.shared {
        let cpu = cpus(&placement.path);
        return format!(
            "{head}: transmit, receive and the path share {cpu}; rates are those of all three together"
        );
    }
    let of = |role: Role| -> Vec<u32> {
        let workers = placement.tester.iter();
        let own = workers.filter(|worker| worker.role == role);
        own.map(|worker| worker.cpu).collect()
    };
    let both = of(Role::Both);
    let tester = if both.is_empty() {
        format!(
            "transmit has {}, receive {}",
            cpus(&of(Role::Transmit)),
            cpus(&of(Role::Receive))
        )
    } else {
        format!("transmit and receive share {}", cpus(&both))
    };
    format!("{head}: {tester}; the path has {}", cpus(&placement.path))
}

fn cpus(list: &[u32]) -> String {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    match sorted.as_slice() {
        [cpu] => format!("CPU {cpu}"),
        _ => format!("CPUs {}", format_cpu_list(&sorted)),
    }
}

/// Cores on which more than one of the chosen CPUs lie.
fn siblings(topology: &Topology, placement: &Placement) -> Option<String> {
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
    let words: Vec<String> = shared.iter().map(|of_core| cpus(of_core)).collect();
    let effect = if between {
        "the tester and the path slow each other"
    } else {
        "they slow each other, though not across tester and path"
    };
    Some(format!(
        "{} are threads of one physical core: {effect}",
        words.join(", and ")
    ))
}

fn nodes(topology: &Topology, wants: Wants, placement: &Placement) -> Option<String> {
    let node_of = |cpu: &u32| topology.cpus.get(cpu).and_then(|seat| seat.node);
    let used: BTreeSet<u32> = placement.all_cpus().iter().filter_map(node_of).collect();
    let list: Vec<u32> = used.iter().copied().collect();
    let list = format_cpu_list(&list);
    match wants.nic_node {
        _ if used.len() > 1 => Some(format!(
            "tester and path lie on NUMA nodes {list}: frames cross between them"
        )),
        Some(nic) if !used.is_empty() && !used.contains(&nic) => Some(format!(
            "the NIC is on NUMA node {nic}, but no CPU there may be used: everything runs on node {list}"
        )),
        _ => None,
    }
}

fn path_doubled(wants: Wants, placement: &Placement) -> Option<String> {
    let has = placement.path.len();
    (!placement.shared && has < wants.path).then(|| {
        format!(
            "the path's {} workers share {}",
            wants.path,
            cpus(&placement.path)
        )
    })
}

fn quota(topology: &Topology, placement: &Placement) -> Option<String> {
    let quota = topology.quota_cpus?;
    let chosen = placement.all_cpus().len() as f64;
    (quota < chosen).then(|| {
        format!(
            "the control group may use {quota:.2} CPUs' worth of time: pinned threads are stopped \
             when it is used up; raise its CPU limit for a steady measurement"
        )
    })
}

fn rests(placement: &Placement) -> Option<String> {
    placement.rests.then(|| {
        "a virtual machine with no CPU left over: its hypervisor may stop CPUs that are never idle"
            .to_owned()
    })
}

fn isolated(topology: &Topology) -> Option<String> {
    let mut unreachable = topology.isolated.clone();
    unreachable.retain(|cpu| !topology.allowed.contains(cpu) && topology.cpus.contains_key(cpu));
    (!unreachable.is_empty()).then(|| {
        let list = format_cpu_list(&unreachable);
        format!(
            "isolated CPUs {list} are outside the affinity of this process; start it with \
             `taskset -c` to let it use them"
        )
    })
}
