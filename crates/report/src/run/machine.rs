//! The machine's fingerprint.

use std::collections::BTreeMap;

use nicety_model::Run;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::run::InterfaceFacts;

use crate::document::csv::Value;
use crate::document::{Block, Table, columns};
use crate::number::plural;

/// Facts beside their names.
pub(crate) fn facts_table(caption: &str, facts: &[(&str, String)]) -> Table {
    Table::of(
        caption,
        facts,
        columns![|(what, value)|
            "what" Name: *what;
            "value" Wide: value;
        ],
    )
}

/// What a report of one measurement says of its machine first.
pub(crate) fn host_facts(host: &nicety_model::Fingerprint) -> [(&'static str, String); 4] {
    [
        ("nicety", host.nicety.clone()),
        ("kernel", host.kernel.clone()),
        ("CPU", host.cpu_model.clone()),
        ("CPUs online", host.cpus.to_string()),
    ]
}

/// Fingerprint tables (RFC 8204 §3.3 lists what to record).
pub(super) fn fingerprint(run: &Run) -> Vec<Block> {
    let (mut facts, unknown): (Vec<_>, Vec<_>) = facts(run)
        .into_iter()
        .partition(|(_, value)| !value.trim().is_empty());
    let unknown: Vec<&str> = unknown.into_iter().map(|(what, _)| what).collect();
    if !unknown.is_empty() {
        facts.push(("none or not known", unknown.join(", ")));
    }
    let mut blocks = vec![Block::Table(facts_table("The machine", &facts))];
    let host = &run.run.host;
    for (title, all) in [("Mitigations", &host.mitigations), ("Sysctl", &host.sysctl)] {
        if !all.is_empty() {
            let lines = all.iter().map(|(name, value)| format!("{name}: {value}"));
            let title = format!("{title} ({})", all.len());
            blocks.push(Block::Folded(title, vec![Block::List(lines.collect())]));
        }
    }
    if !run.run.host.interfaces.is_empty() {
        blocks.push(Block::Table(interfaces(&run.run.host.interfaces)));
    }
    blocks
}

/// The same in a line.
pub(super) fn line(run: &Run) -> String {
    let host = &run.run.host;
    let known = |text: &str| {
        if text.trim().is_empty() {
            "unknown".to_owned()
        } else {
            text.to_owned()
        }
    };
    format!(
        "nicety {}, kernel {}, {} with {}.",
        known(&host.nicety),
        known(&host.kernel),
        known(&host.cpu_model),
        plural(host.cpus, "CPU")
    )
}

fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let host = &run.run.host;
    let rights = if host.privileged {
        "root on the host"
    } else {
        "ordinary user in a namespace of its own"
    };
    vec![
        ("nicety", host.nicety.clone()),
        ("seed of the cell order", run.run.seed.to_string()),
        ("rights", rights.to_owned()),
        ("system", host.os.text()),
        ("kernel", host.kernel.clone()),
        ("kernel command line", host.cmdline.clone()),
        ("hypervisor", host.hypervisor.text()),
        ("CPU", host.cpu_model.clone()),
        ("CPUs online", host.cpus.to_string()),
        ("CPUs nicety may use", format_cpu_list(&host.cpus_allowed)),
        ("sockets", host.sockets.text()),
        ("NUMA nodes", nodes(&host.numa)),
        ("SMT", host.smt.text()),
        ("governor", governors(&host.governor)),
        ("isolated CPUs", format_cpu_list(&host.isolated)),
        ("microcode", host.microcode.text()),
        ("clock source", host.clocksource.text()),
        (
            "memory",
            host.memory_mib.map(|mib| format!("{mib} MiB")).text(),
        ),
        ("huge pages, KiB: number", pairs(&host.hugepages)),
        ("firmware", host.bios.text()),
    ]
}

fn interfaces(all: &BTreeMap<String, InterfaceFacts>) -> Table {
    Table::of(
        "Interfaces",
        all,
        columns![|(name, facts)|
            "interface" Name: *name;
            "driver" Text: format!("{} {}", facts.driver.text(), facts.driver_version.text());
            "firmware" Text: facts.firmware.as_ref();
            "bus" Text: facts.bus.as_ref();
            "NUMA" Text: facts.numa_node;
            "Mbit/s" Number: facts.speed_mbps.filter(|speed| *speed != 0 && *speed != u32::MAX);
            "MTU" Number: facts.mtu;
            "queues" Text: facts.queues.as_ref();
            "offloads on" Wide: Some(facts.offloads.join(", ")).filter(|all| !all.is_empty());
        ],
    )
}

fn pairs(map: &BTreeMap<String, impl std::fmt::Display>) -> String {
    let all: Vec<String> = map.iter().map(|(k, v)| format!("{k}: {v}")).collect();
    all.join("; ")
}

fn nodes(numa: &BTreeMap<String, Vec<u32>>) -> String {
    let all: Vec<String> = numa
        .iter()
        .map(|(node, cpus)| format!("{node}: CPUs {}", format_cpu_list(cpus)))
        .collect();
    all.join("; ")
}

/// Governors with the number of CPUs that have each: 160 CPUs seldom have 160 governors.
fn governors(by_cpu: &BTreeMap<String, String>) -> String {
    let mut cpus: BTreeMap<&str, usize> = BTreeMap::new();
    for governor in by_cpu.values() {
        *cpus.entry(governor).or_default() += 1;
    }
    let all: Vec<String> = cpus
        .iter()
        .map(|(governor, n)| format!("{governor} ({})", plural(*n, "CPU")))
        .collect();
    all.join(", ")
}
