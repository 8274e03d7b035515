//! The facts as tables: the machine, nodes, interfaces, virtual machines, settings.

mod interfaces;
mod settings;
mod vms;

use nicety_model::HostFacts;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::driver::{Meaning, meaning};
use nicety_model::facts::{NetFacts, NodeFacts};

use crate::document::columns;
use crate::number::plural;
use crate::page::{Page, said};

/// The whole page of a host whose network `misplaced` things slow, as `nicety tune plan` lists them.
pub fn page(facts: &HostFacts, misplaced: usize) -> Page {
    let mut page = Page::default();
    page.line(&match misplaced {
        0 => "nothing is misplaced".to_owned(),
        1 => "1 thing slows this host's network; nicety tune plan says which".to_owned(),
        more => format!("{more} things slow this host's network; nicety tune plan says which"),
    });
    machine(&mut page, facts);
    nodes(&mut page, facts);
    interfaces::render(&mut page, facts);
    vms::render(&mut page, facts);
    settings::render(&mut page, facts);
    window(&mut page, facts);
    for note in &facts.notes {
        page.line("");
        page.line(&format!("note: {note}"));
    }
    page
}

fn machine(page: &mut Page, facts: &HostFacts) {
    let host = &facts.host;
    let sockets = host.sockets.unwrap_or(1) as usize;
    let cores = facts.cpu.cpus.iter().filter(|s| s.cpu == s.core).count();
    if let Some(called) = host.called() {
        page.line(&called);
    }
    page.line(&format!(
        "{}, {}: {}, {}, {}",
        host.cpu_model,
        plural(host.cpus, "CPU"),
        plural(sockets, "socket"),
        plural(cores, "core"),
        plural(facts.cpu.nodes.len().max(1), "node"),
    ));
    let mut words = vec![format!("kernel {}", host.kernel)];
    words.extend(host.os.clone());
    let memory = facts.memory.total_mib;
    words.extend(memory.map(|mib| format!("{mib} MiB memory")));
    let hypervisor = host.hypervisor.as_ref();
    words.extend(hypervisor.map(|name| format!("guest of {name}")));
    page.line(&words.join(", "));
    if let Some(xen) = &facts.xen {
        page.line(&format!(
            "Xen's first domain: {} of {} CPUs, {} threads per socket",
            xen.dom0_vcpus.len(),
            said(xen.cpus),
            said(xen.threads_per_socket()),
        ));
    }
    for (what, cpus) in [
        ("isolated", &facts.cpu.isolated),
        ("without tick", &facts.cpu.nohz_full),
    ] {
        if !cpus.is_empty() {
            page.line(&format!("CPUs {what}: {}", format_cpu_list(cpus)));
        }
    }
}

fn nodes(page: &mut Page, facts: &HostFacts) {
    let nics = |node: &NodeFacts| {
        let here = |net: &&NetFacts| net.numa_node == Some(node.node);
        let here = facts.interfaces.iter().filter(here);
        here.map(NetFacts::name).collect::<Vec<_>>().join(" ")
    };
    let huge = |node: &NodeFacts| {
        let all = facts.memory.hugepages.iter();
        let here = all.filter(|pages| pages.node == Some(node.node));
        let words = here.map(|p| format!("{}×{} KiB, {} free", p.total, p.size_kib, p.free));
        words.collect::<Vec<_>>().join("; ")
    };
    page.rows(
        "nodes",
        &facts.cpu.nodes,
        columns![|node|
            "node" Place: node.node;
            "CPUs" Text: format_cpu_list(&node.cpus);
            "cores" Number: facts.cpu.cores_of(node.node);
            "memory MiB" Number: node.memory_mib;
            "of it free" Number: node.free_mib;
            "huge pages" Text: huge(node);
            "NICs" Text: nics(node);
        ],
    );
    if let Some(line) = other_total(facts) {
        page.line(&line);
    }
}

/// Why the nodes have another amount of memory than the machine, where they have: a container sees a
/// total of its own (lxcfs).
fn other_total(facts: &HostFacts) -> Option<String> {
    let total = facts.memory.total_mib?;
    let nodes: Option<Vec<u64>> = facts.cpu.nodes.iter().map(|node| node.memory_mib).collect();
    let nodes = nodes.filter(|nodes| !nodes.is_empty())?.iter().sum::<u64>();
    (nodes.abs_diff(total) * 100 > total).then(|| {
        if nodes < total {
            format!(
                "NUMA nodes account for {nodes} of {total} MiB; the rest is not assigned to a node."
            )
        } else {
            format!(
                "/proc/meminfo reports {total} of the nodes' {nodes} MiB: a container's limit hides the rest."
            )
        }
    })
}

/// What was counted while somebody looked on.
fn window(page: &mut Page, facts: &HostFacts) {
    let Some(window) = &facts.window else {
        return;
    };
    let per_s = |count: u64| format!("{:.0}", count as f64 / window.seconds);
    let interrupts = |cpu: u32| window.interrupts.get(&cpu).copied().unwrap_or(0);
    page.rows(
        &format!("in {:.1} s", window.seconds),
        &window.softnet,
        columns![|cpu|
            "CPU" Place: cpu.cpu;
            "frames/s" Number: per_s(cpu.processed);
            "dropped by backlog" Number: cpu.dropped;
            "rounds cut short" Number: cpu.time_squeeze;
            "interrupts/s" Number: per_s(interrupts(cpu.cpu));
        ],
    );
    let errors = window.counters.iter().flat_map(|(interface, moved)| {
        let errors = moved.iter().filter(|(name, _)| {
            ["drop", "missed", "fifo", "error"]
                .iter()
                .any(|word| name.contains(word))
        });
        errors.map(move |(name, count)| format!("{interface}: {name} {count}"))
    });
    let own = window.driver_drops.iter().flat_map(|(interface, moved)| {
        let driver = facts.interface(interface);
        let driver = driver.and_then(|net| net.link.driver.as_deref());
        moved.iter().map(move |(name, count)| {
            let reason = meaning(driver, name).map_or("reason unknown to nicety", Meaning::words);
            format!("{interface}: {} {count} ({reason})", name.trim())
        })
    });
    let drops = errors.chain(own);
    let drops: Vec<String> = drops.collect();
    if !drops.is_empty() {
        page.line(&drops.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::MemoryFacts;

    use super::*;

    #[test]
    fn another_total_is_explained() {
        let facts = |total, nodes: &[u64]| HostFacts {
            memory: MemoryFacts {
                total_mib: Some(total),
                ..MemoryFacts::default()
            },
            cpu: nicety_model::facts::CpuFacts {
                nodes: nodes
                    .iter()
                    .map(|mib| NodeFacts {
                        memory_mib: Some(*mib),
                        ..NodeFacts::default()
                    })
                    .collect(),
                ..nicety_model::facts::CpuFacts::default()
            },
            ..HostFacts::default()
        };
        assert_eq!(other_total(&facts(24_105, &[12_000, 12_105])), None);
        assert_eq!(other_total(&facts(24_105, &[])), None);
        let said = other_total(&facts(7_514, &[24_105])).unwrap();
        assert!(said.contains("7514 of the nodes' 24105 MiB"), "{said}");
    }
}
