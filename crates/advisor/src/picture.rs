//! What sits where on a host, for its picture.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::HostFacts;
use nicety_model::cpu_list::name_cpus;
use nicety_model::facts::{NetFacts, VmFacts, VmThread};
use nicety_model::finding::Goal;
use nicety_model::picture::{CpuPicture, Mark, MarkKind, NicPicture, NodePicture, Picture};

use crate::case::{Case, Wishes};

/// The host as it is drawn. Misplaced is what runs, or may run, away from the node of its NIC.
pub fn picture(facts: &HostFacts) -> Picture {
    let case = Case::new(facts, Goal::Throughput, Wishes::default());
    let mut picture = Picture {
        nodes: nodes(&case),
        ..Picture::default()
    };
    for net in case.nics() {
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
            add(
                &case,
                &mut picture,
                Some(net),
                (MarkKind::Interrupt, name),
                cpus,
            );
        }
    }
    for vm in &facts.vms {
        let net = case.nic_of(vm);
        for (kind, threads, word) in kinds(vm) {
            for (index, thread) in threads.iter().enumerate() {
                let name = format!("{} {word} {index}", vm.name);
                add(&case, &mut picture, net, (kind, name), &thread.cpus);
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

fn add(
    case: &Case<'_>,
    picture: &mut Picture,
    net: Option<&NetFacts>,
    (kind, name): (MarkKind, String),
    cpus: &[u32],
) {
    let home = net.and_then(|net| case.node_of(net));
    let there: BTreeSet<Option<u32>> = cpus
        .iter()
        .map(|cpu| case.facts.cpu.node_of(*cpu))
        .collect();
    // Without a second node, or without knowing the NIC's, nothing is far.
    let misplaced = case.has_nodes() && home.is_some() && there.iter().any(|node| *node != home);
    if let (true, Some(net), Some(home)) = (misplaced, net, home) {
        picture.misplaced.push(format!(
            "{name} runs on {}, {} is on node {home}",
            name_cpus(cpus),
            net.name()
        ));
    }
    let mark = Mark {
        kind,
        name,
        misplaced,
        nic: net.map(|net| net.name().to_owned()),
    };
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
    fn without_a_second_node_nothing_is_far() {
        assert_eq!(host(1, 0, &[0, 1, 2, 3]).misplaced, [""; 0]);
        assert!(picture(&HostFacts::default()).nodes.is_empty());
    }
}
