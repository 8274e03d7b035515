//! The facts as tables: the machine, nodes, interfaces, virtual machines, settings.

mod interfaces;
mod settings;
mod vms;

use nicety_model::HostFacts;
use nicety_model::cpu_list::format_cpu_list;

use crate::page::{Page, said};

/// The whole page.
pub fn render(facts: &HostFacts, width: u16) -> String {
    let mut page = Page::new(width);
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
    page.into_text()
}

fn machine(page: &mut Page, facts: &HostFacts) {
    let host = &facts.host;
    let sockets = host.sockets.unwrap_or(1);
    let cores = facts.cpu.cpus.iter().filter(|s| s.cpu == s.core).count();
    page.line(&format!(
        "{}, {} CPUs: {sockets} {}, {cores} cores, {} {}",
        host.cpu_model,
        host.cpus,
        plural(sockets as usize, "socket"),
        facts.cpu.nodes.len().max(1),
        plural(facts.cpu.nodes.len().max(1), "node"),
    ));
    let mut words = vec![format!("kernel {}", host.kernel)];
    words.extend(host.os.clone());
    words.extend(
        facts
            .memory
            .total_mib
            .map(|mib| format!("{mib} MiB memory")),
    );
    words.extend(
        host.hypervisor
            .as_ref()
            .map(|name| format!("guest of {name}")),
    );
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

fn plural(count: usize, word: &str) -> String {
    match count {
        1 => word.to_owned(),
        _ => format!("{word}s"),
    }
}

fn nodes(page: &mut Page, facts: &HostFacts) {
    let rows: Vec<Vec<String>> = facts
        .cpu
        .nodes
        .iter()
        .map(|node| {
            let here = |net: &&nicety_model::facts::NetFacts| net.numa_node == Some(node.node);
            let nics: Vec<&str> = facts
                .interfaces
                .iter()
                .filter(here)
                .map(|n| n.name())
                .collect();
            let huge: Vec<String> = facts
                .memory
                .hugepages
                .iter()
                .filter(|pages| pages.node == Some(node.node))
                .map(|p| format!("{}×{} KiB, {} free", p.total, p.size_kib, p.free))
                .collect();
            vec![
                node.node.to_string(),
                format_cpu_list(&node.cpus),
                facts.cpu.cores_of(node.node).to_string(),
                said(node.memory_mib),
                said(node.free_mib),
                huge.join("; "),
                nics.join(" "),
            ]
        })
        .collect();
    let columns = [
        "node",
        "CPUs",
        "cores",
        "MiB",
        "MiB free",
        "huge pages",
        "NICs",
    ];
    page.table("nodes", &columns, &rows);
}

/// What was counted while somebody looked on.
fn window(page: &mut Page, facts: &HostFacts) {
    let Some(window) = &facts.window else {
        return;
    };
    let per_s = |count: u64| format!("{:.0}", count as f64 / window.seconds);
    let rows: Vec<Vec<String>> = window
        .softnet
        .iter()
        .map(|cpu| {
            let interrupts = window.interrupts.get(&cpu.cpu).copied().unwrap_or(0);
            vec![
                cpu.cpu.to_string(),
                per_s(cpu.processed),
                cpu.dropped.to_string(),
                cpu.time_squeeze.to_string(),
                per_s(interrupts),
            ]
        })
        .collect();
    let columns = [
        "CPU",
        "frames/s",
        "dropped by backlog",
        "rounds cut short",
        "interrupts/s",
    ];
    page.table(&format!("in {:.1} s", window.seconds), &columns, &rows);
    let counters = window.counters.iter().chain(&window.driver_drops);
    let drops = counters.flat_map(|(interface, moved)| {
        let drops = moved.iter().filter(|(name, _)| {
            ["drop", "missed", "fifo", "error"]
                .iter()
                .any(|word| name.contains(word))
        });
        drops.map(move |(name, count)| format!("{interface}: {name} {count}"))
    });
    let drops: Vec<String> = drops.collect();
    if !drops.is_empty() {
        page.line(&drops.join(", "));
    }
}
