//! Placements for 1 to 160 CPUs.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::topology::CpuSeat;

/// `cores` per node, `threads` per core; CPU numbers as Linux gives them on x86: all first
/// threads before all second ones.
fn machine(nodes: u32, cores: u32, threads: u32) -> Topology {
    let per_round = nodes * cores;
    let mut topology = Topology::default();
    for cpu in 0..per_round * threads {
        let core = cpu % per_round;
        let node = core / cores;
        let seat = CpuSeat {
            core,
            socket: Some(node),
            node: Some(node),
        };
        topology.cpus.insert(cpu, seat);
        topology.allowed.push(cpu);
        topology.nodes.entry(node).or_default().push(cpu);
    }
    topology
}

fn wants(tester: usize, path: usize) -> Wants {
    Wants {
        tester,
        path,
        nic_node: None,
    }
}

/// The same beside a NIC of this node.
fn near(node: u32, tester: usize, path: usize) -> Wants {
    Wants {
        nic_node: Some(node),
        ..wants(tester, path)
    }
}

fn tester_cpus(placement: &Placement) -> Vec<u32> {
    placement.tester.iter().map(|worker| worker.cpu).collect()
}

/// CPUs of the tester, CPUs of the path.
fn cpus(placement: Placement) -> (Vec<u32>, Vec<u32>) {
    (tester_cpus(&placement), placement.path)
}

fn says(placement: &Placement, words: &str) -> bool {
    let mut notes = placement.notes.iter();
    notes.any(|note| note.to_string().contains(words))
}

/// Name, machine, wants; the tester's CPUs, the path's CPUs.
type Row = (
    &'static str,
    Topology,
    Wants,
    &'static [u32],
    &'static [u32],
);

#[test]
fn cpus_are_given_as_the_table_says() {
    let uni = wants(2, 2);
    let one_path = wants(2, 1);
    let bidirectional = wants(4, 4);
    #[rustfmt::skip]
    let table: [Row; 16] = [
        ("1 CPU", machine(1, 1, 1), uni, &[0], &[0]),
        ("2 CPUs", machine(1, 2, 1), uni, &[1], &[0]),
        ("2 CPUs, 4 workers", machine(1, 2, 1), bidirectional, &[1], &[0]),
        ("2 threads of a core", machine(1, 1, 2), uni, &[1], &[0]),
        ("3 CPUs", machine(1, 3, 1), uni, &[2], &[0, 1]),
        ("3 CPUs, path of one", machine(1, 3, 1), one_path, &[2], &[1]),
        ("4 CPUs", machine(1, 4, 1), uni, &[2, 3], &[0, 1]),
        ("4 CPUs, path of one", machine(1, 4, 1), one_path, &[2, 3], &[1]),
        ("2 cores, 4 threads", machine(1, 2, 2), uni, &[1, 3], &[0, 2]),
        ("2 cores, path of one", machine(1, 2, 2), one_path, &[1, 3], &[2]),
        ("8 CPUs", machine(1, 8, 1), uni, &[3, 4], &[1, 2]),
        ("8 CPUs, all in use", machine(1, 8, 1), bidirectional, &[4, 5, 6, 7], &[0, 1, 2, 3]),
        ("4 cores, 8 threads", machine(1, 4, 2), uni, &[2, 3], &[1, 4]),
        ("2 nodes of 4", machine(2, 4, 1), uni, &[6, 7], &[4, 5]),
        ("160 CPUs", machine(8, 10, 2), uni, &[3, 4], &[1, 2]),
        ("160 CPUs, NIC far", machine(8, 10, 2), Wants { nic_node: Some(5), ..bidirectional },
            &[54, 55, 56, 57], &[50, 51, 52, 53]),
    ];
    for (name, topology, wants, tester, path) in table {
        let placement = place(&topology, wants);
        assert_eq!(tester_cpus(&placement), tester, "{name}: tester");
        assert_eq!(placement.path, path, "{name}: path");
    }
}

#[test]
fn notes_say_who_shares_what() {
    let first = |topology: &Topology, wants| place(topology, wants).notes[0].to_string();
    assert_eq!(
        first(&machine(1, 1, 1), wants(2, 2)),
        "1 CPU: sender, receiver and path share CPU 0, so the rates are those of all three together. Give the machine two CPUs or more."
    );
    assert_eq!(
        first(&machine(1, 2, 1), wants(2, 1)),
        "2 CPUs: sender and receiver share CPU 1; the path runs on CPU 0."
    );
    assert_eq!(
        first(&machine(1, 8, 1), wants(2, 2)),
        "8 CPUs: the sender runs on CPU 3, the receiver on CPU 4; the path runs on CPUs 1-2."
    );
    let quiet = place(&machine(1, 8, 1), wants(2, 2));
    assert_eq!(quiet.notes.len(), 1, "{:?}", quiet.notes);
    let two = place(&machine(1, 2, 1), wants(2, 2));
    assert!(says(&two, "The path's 2 workers share CPU 0"), "{two:?}");
    assert!(says(&two, "housekeeping"), "{two:?}");
    let one_core = place(&machine(1, 1, 2), wants(2, 1));
    assert!(says(&one_core, "The tester and the path slow each other"));
    let inner = place(&machine(1, 2, 2), wants(2, 2));
    assert!(says(&inner, "not across tester and path"), "{inner:?}");
}

#[test]
fn roles_follow_the_number_of_workers() {
    use Role::{Both, Receive, Transmit};
    let big = machine(1, 16, 1);
    for (count, roles) in [
        (0, vec![Both]),
        (1, vec![Both]),
        (2, vec![Transmit, Receive]),
        (3, vec![Transmit, Receive, Receive]),
        (4, vec![Transmit, Receive, Transmit, Receive]),
        (9, vec![Transmit, Receive, Transmit, Receive]),
    ] {
        let placement = place(&big, wants(count, 1));
        let got: Vec<Role> = placement.tester.iter().map(|worker| worker.role).collect();
        assert_eq!(got, roles, "{count} workers");
    }
}

/// Every machine and want in reach: what must hold whatever the numbers.
#[test]
fn rules_hold_for_every_machine() {
    for (nodes, cores, threads) in [
        (1, 1, 1),
        (1, 2, 1),
        (1, 3, 1),
        (1, 4, 1),
        (1, 8, 1),
        (1, 1, 2),
        (1, 2, 2),
        (1, 3, 2),
        (1, 4, 2),
        (2, 1, 2),
        (2, 2, 1),
        (2, 2, 2),
        (4, 4, 2),
        (2, 3, 4),
        (8, 10, 2),
    ] {
        let topology = machine(nodes, cores, threads);
        let count = topology.allowed.len();
        for tester in 1..=4 {
            for path in 1..=10 {
                for nic_node in [None, Some(0), Some(nodes - 1), Some(99)] {
                    let wants = Wants {
                        tester,
                        path,
                        nic_node,
                    };
                    check(&topology, wants, count);
                }
            }
        }
    }
}

fn check(topology: &Topology, wants: Wants, count: usize) {
    let placement = place(topology, wants);
    let context = format!("{count} CPUs {wants:?} -> {placement:?}");
    let tester: BTreeSet<u32> = tester_cpus(&placement).into_iter().collect();
    let path: BTreeSet<u32> = placement.path.iter().copied().collect();
    assert_eq!(tester.len(), placement.tester.len(), "twice: {context}");
    assert_eq!(path.len(), placement.path.len(), "twice: {context}");
    assert!((1..=wants.tester).contains(&tester.len()), "{context}");
    assert!((1..=wants.path).contains(&path.len()), "{context}");
    let apart = tester.is_disjoint(&path);
    assert_eq!(apart, count > 1, "{context}");
    assert_eq!(placement.shared, !apart, "{context}");
    if count >= 4 && wants.tester >= 2 {
        assert!(tester.len() >= 2, "{context}");
    }
    let needed = tester.len() + path.len();
    // The node of the NIC goes before sparing CPU 0.
    if count > needed && wants.nic_node != Some(0) {
        assert!(!tester.contains(&0) && !path.contains(&0), "{context}");
    }
    if count > needed {
        assert_eq!(path.len(), wants.path, "idle CPUs: {context}");
    }
    let cores = |cpus: &BTreeSet<u32>| -> BTreeSet<u32> {
        cpus.iter().map(|cpu| topology.cpus[cpu].core).collect()
    };
    if topology.cores() >= needed {
        let used: BTreeSet<u32> = cores(&tester).union(&cores(&path)).copied().collect();
        assert_eq!(used.len(), needed, "siblings: {context}");
    }
    for index in 0..20 {
        assert!(path.contains(&placement.path_cpu(index).unwrap()));
    }
}

#[test]
fn the_nics_node_is_kept_while_it_has_cores() {
    let topology = machine(4, 4, 2);
    for node in 0..4 {
        let placement = place(&topology, near(node, 2, 2));
        for cpu in tester_cpus(&placement).iter().chain(&placement.path) {
            assert_eq!(topology.cpus[cpu].node, Some(node), "{placement:?}");
        }
    }
    let spread = place(&topology, near(2, 2, 4));
    assert!(says(&spread, "NUMA nodes"));
    for cpu in &spread.path {
        assert_eq!(topology.cpus[cpu].node, Some(2), "{spread:?}");
    }
    let mut elsewhere = machine(2, 2, 1);
    elsewhere.allowed = vec![2, 3];
    let placement = place(&elsewhere, near(0, 1, 1));
    let said = says(&placement, "no CPU of the NIC's node");
    assert!(said, "{placement:?}");
}

#[test]
fn only_allowed_cpus_are_used() {
    let mut topology = machine(1, 8, 1);
    topology.allowed = vec![5, 7];
    let given = cpus(place(&topology, wants(2, 2)));
    assert_eq!(given, (vec![7], vec![5]));
    topology.allowed.clear();
    assert_eq!(place(&topology, wants(2, 2)), Placement::default());
    // An allowed CPU the topology does not know is a core of its own.
    let bare = Topology {
        allowed: vec![3, 4],
        ..Topology::default()
    };
    let given = cpus(place(&bare, wants(1, 1)));
    assert_eq!(given, (vec![4], vec![3]));
}

#[test]
fn a_lone_core_goes_to_the_side_that_needs_less() {
    // CPU 1 alone on its core, 2 and 3 together: the path's two workers take the pair.
    let mut topology = machine(1, 1, 1);
    topology.cpus = BTreeMap::from([(1, 1), (2, 2), (3, 2)].map(|(cpu, core)| {
        (
            cpu,
            CpuSeat {
                core,
                ..CpuSeat::default()
            },
        )
    }));
    topology.allowed = vec![1, 2, 3];
    let given = cpus(place(&topology, wants(1, 2)));
    assert_eq!(given, (vec![1], vec![2, 3]));
}

#[test]
fn isolated_cpus_come_first_and_are_missed_when_out_of_reach() {
    let mut topology = machine(2, 8, 1);
    topology.isolated = vec![12, 13, 14, 15];
    let given = cpus(place(&topology, wants(2, 2)));
    assert_eq!(given, (vec![14, 15], vec![12, 13]));
    topology.allowed.truncate(12);
    let placement = place(&topology, wants(2, 2));
    let said = says(&placement, "Isolated CPUs 12-15");
    assert!(said, "{placement:?}");
}

#[test]
fn a_quota_takes_tester_workers_away_and_is_said() {
    let mut topology = machine(1, 8, 1);
    for (quota, workers, said) in [
        (0.5, 1, true),
        (1.5, 1, true),
        (2.0, 2, true),
        (8.0, 2, false),
    ] {
        topology.quota_cpus = Some(quota);
        let placement = place(&topology, wants(2, 2));
        assert_eq!(placement.tester.len(), workers, "{quota}");
        let note = says(&placement, "control group");
        assert_eq!(note, said, "{quota}: {placement:?}");
    }
}

#[test]
fn senders_rest_in_a_full_virtual_machine() {
    let rests = |cores, virtual_machine| {
        let mut topology = machine(1, cores, 1);
        topology.virtual_machine = virtual_machine;
        let placement = place(&topology, wants(2, 2));
        let said = says(&placement, "no spare CPU");
        assert_eq!(said, placement.rests, "{:?}", placement.notes);
        placement.rests
    };
    assert!(rests(2, true) && rests(4, true));
    assert!(!rests(2, false), "a physical machine has no hypervisor");
    assert!(!rests(8, true), "CPUs are left over");
    assert!(!rests(1, true), "the tester gives way by itself");
}
