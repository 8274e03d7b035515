//! What sits where on a host, for its picture.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::HostFacts;
use nicety_model::cpu_list::name_cpus;
use nicety_model::facts::{NetFacts, VmFacts, VmThread};
use nicety_model::finding::Goal;
use nicety_model::picture::{CpuPicture, Mark, MarkKind, NicPicture, NodePicture, Picture};

use crate::case::{Case, Wishes};
use crate::home::Home;
use crate::irq_place::{Fault, Ground};

/// The host as it is drawn. Misplaced is what runs, or may run, away from the node of its NIC, and
/// interrupts on CPUs that others need.
pub fn picture(facts: &HostFacts) -> Picture {
    let case = Case::new(facts, Goal::Throughput, Wishes::default());
    let mut picture = Picture {
        nodes: nodes(&case),
        ..Picture::default()
    };
    for net in case.nics() {
        let ground = Ground::new(&case, net, &BTreeSet::new(), &BTreeSet::new());
        let home = Home::of(&case, vec![net]).ok();
        for irq in case.queue_irqs(net) {
            let cpus = if irq.effective.is_empty() {
                &irq.affinity
            } else {
                &irq.effective
            };
            let name = if irq.name.is_empty() {
                format!("{} IRQ {}", net.name(), irq.irq)
            } else {
                irq.name.clone()
            };
            let wrong = match ground.fault(cpus) {
                Some(Fault::Guest(guest)) => {
                    Some(format!("{}, where {guest} is pinned", name_cpus(cpus)))
                }
                Some(Fault::Isolated) => Some(format!("isolated {}", name_cpus(cpus))),
                _ => far(&case, home.as_ref(), cpus),
            };
            let mark = mark(MarkKind::Interrupt, name, Some(net.name()));
            add(&case, &mut picture, mark, cpus, wrong);
        }
    }
    for vm in &facts.vms {
        let home = case.home_of(vm).ok();
        let nic = home.as_ref().and_then(|home| home.nics.first());
        for (kind, threads, word) in kinds(vm) {
            for (index, thread) in threads.iter().enumerate() {
                let name = format!("{} {word} {index}", vm.name);
                let wrong = far(&case, home.as_ref(), &thread.cpus);
                let mark = mark(kind, name, nic.map(|net| net.name()));
                add(&case, &mut picture, mark, &thread.cpus, wrong);
            }
        }
    }
    picture
}

fn kinds(vm: &VmFacts) -> [(MarkKind, &[VmThread], &'static str); 2] {
    [
        (MarkKind::VirtualCpu, &vm.vcpus, "vCPU"),
        (MarkKind::Vhost, &vm.vhost, "vhost"),
    ]
}

fn nodes(case: &Case<'_>) -> Vec<NodePicture> {
    let mut nodes: BTreeMap<Option<u32>, NodePicture> = BTreeMap::new();
    let mut cores: BTreeMap<(Option<u32>, u32), Vec<CpuPicture>> = BTreeMap::new();
    for seat in &case.facts.cpu.cpus {
        let cpu = CpuPicture {
            cpu: seat.cpu,
            marks: Vec::new(),
        };
        cores.entry((seat.node, seat.core)).or_default().push(cpu);
    }
    for ((node, _), threads) in cores {
        let drawn = nodes.entry(node).or_insert_with(|| NodePicture {
            node,
            memory_mib: memory(case, node),
            ..NodePicture::default()
        });
        drawn.cores.push(threads);
    }
    for net in case.nics() {
        let node = case.node_of(net);
        // A node without CPUs, or one that the firmware does not tell: the first one has room.
        let at = if nodes.contains_key(&node) {
            Some(node)
        } else {
            nodes.keys().next().copied()
        };
        if let Some(drawn) = at.and_then(|at| nodes.get_mut(&at)) {
            drawn.nics.push(NicPicture {
                name: net.name().to_owned(),
                about: about(net),
            });
        }
    }
    nodes.into_values().collect()
}

fn memory(case: &Case<'_>, node: Option<u32>) -> Option<u64> {
    let mut nodes = case.facts.cpu.nodes.iter();
    nodes.find(|facts| Some(facts.node) == node)?.memory_mib
}

fn about(net: &NetFacts) -> String {
    let driver = net.link.driver.as_deref().unwrap_or("no driver known");
    match net.link.speed_mbps {
        Some(mbps) if mbps >= 1000 && mbps % 100 == 0 => {
            format!("{driver}, {} Gbit/s", f64::from(mbps) / 1000.0)
        }
        Some(mbps) => format!("{driver}, {mbps} Mbit/s"),
        None => driver.to_owned(),
    }
}

fn mark(kind: MarkKind, name: String, nic: Option<&str>) -> Mark {
    Mark {
        kind,
        name,
        misplaced: false,
        nic: nic.map(str::to_owned),
    }
}

/// Where else it runs, when not on the node of its NIC alone. Without a second node, or without
/// knowing the NIC's, nothing is far.
fn far(case: &Case<'_>, home: Option<&Home<'_>>, cpus: &[u32]) -> Option<String> {
    let home = home.filter(|home| case.has_nodes() && home.node.is_some())?;
    let away = |cpu: &u32| case.facts.cpu.node_of(*cpu) != home.node;
    let far = cpus.iter().any(away);
    far.then(|| format!("{}, {}", name_cpus(cpus), home.place()))
}

/// Draws a mark; `wrong` says what is wrong with its CPUs.
fn add(
    case: &Case<'_>,
    picture: &mut Picture,
    mut mark: Mark,
    cpus: &[u32],
    wrong: Option<String>,
) {
    let there: BTreeSet<Option<u32>> = cpus
        .iter()
        .map(|cpu| case.facts.cpu.node_of(*cpu))
        .collect();
    mark.misplaced = wrong.is_some();
    let name = &mark.name;
    picture
        .misplaced
        .extend(wrong.map(|wrong| format!("{name} runs on {wrong}")));
    let place = match (cpus, there.first()) {
        ([cpu], _) => cpu_of(picture, *cpu).map(|cpu| &mut cpu.marks),
        (_, Some(node)) if there.len() == 1 => {
            let node = *node;
            let drawn = picture.nodes.iter_mut().find(|drawn| drawn.node == node);
            drawn.map(|drawn| &mut drawn.within)
        }
        _ => None,
    };
    match place {
        Some(marks) => marks.push(mark),
        None => picture.anywhere.push(mark),
    }
}

fn cpu_of(picture: &mut Picture, cpu: u32) -> Option<&mut CpuPicture> {
    let mut cpus = picture
        .nodes
        .iter_mut()
        .flat_map(|n| n.cores.iter_mut().flatten());
    cpus.find(|drawn| drawn.cpu == cpu)
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::IrqFacts;

    use super::*;
    use crate::fixture::Host;

    fn host(nodes: u32, irq_cpu: u32, vcpu: &[u32]) -> Picture {
        let mut facts = Host::new(nodes, 4)
            .nic("eth0", 10_000, nodes - 1)
            .vm("web", &[vcpu])
            .facts;
        facts.irqs.push(IrqFacts {
            irq: 30,
            name: "eth0-TxRx-0".to_owned(),
            interface: "eth0".to_owned(),
            effective: vec![irq_cpu],
            ..IrqFacts::default()
        });
        picture(&facts)
    }

    #[test]
    fn what_is_far_from_its_nic_is_misplaced() {
        let far = host(2, 0, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(far.nodes[1].nics[0].about, "no driver known, 10 Gbit/s");
        assert!(far.nodes[0].cores[0][0].marks[0].misplaced);
        assert_eq!(far.anywhere[0].name, "web vCPU 0");
        assert_eq!(
            far.misplaced,
            [
                "eth0-TxRx-0 runs on CPU 0, eth0 is on node 1",
                "web vCPU 0 runs on CPUs 0-7, eth0 is on node 1",
            ]
        );
        let near = host(2, 5, &[6, 7]);
        assert_eq!(near.misplaced, [""; 0]);
        assert_eq!(near.nodes[1].cores[1][0].marks[0].name, "eth0-TxRx-0");
        assert_eq!(near.nodes[1].within[0].name, "web vCPU 0");
        assert!(near.anywhere.is_empty());
    }

    #[test]
    fn interrupts_on_cpus_that_others_need_are_misplaced() {
        assert_eq!(
            host(1, 2, &[2]).misplaced,
            ["eth0-TxRx-0 runs on CPU 2, where vCPU 0 of web is pinned"]
        );
        assert_eq!(host(1, 2, &[3]).misplaced, [""; 0]);
    }

    #[test]
    fn without_a_second_node_nothing_is_far() {
        assert_eq!(host(1, 0, &[0, 1, 2, 3]).misplaced, [""; 0]);
        assert!(picture(&HostFacts::default()).nodes.is_empty());
    }
}
