//! Settings of a host beside its interfaces and its command line.

use std::collections::BTreeMap;

use nicety_model::HostFacts;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::facts::{CpuFacts, CpuIdle, MemoryFacts, Services};

use super::profile::{Area, Settings, UNKNOWN, together};

/// Settings whose value the kernel works out from the memory there is (net/ipv4/tcp.c, `tcp_init_mem`), and
/// one that says what huge pages say.
const DERIVED: [&str; 3] = ["net.ipv4.tcp_mem", "net.ipv4.udp_mem", "vm.nr_hugepages"];

/// Adds them.
pub(super) fn settings(facts: &HostFacts, settings: &mut Settings) {
    let host = &facts.host;
    let known = |text: &str| (!matches!(text, "" | UNKNOWN)).then(|| text.to_owned());
    let machine = Area::Machine;
    settings.put(machine, "kernel", known(&host.kernel));
    settings.put(machine, "system", host.os.clone());
    settings.put(machine, "BIOS", host.bios.clone());
    settings.put(machine, "microcode", host.microcode.clone());
    settings.put(machine, "hypervisor", host.hypervisor.clone());
    settings.put(machine, "clock source", host.clocksource.clone());
    let count = |n: usize| (n > 0).then(|| n.to_string());
    settings.put(machine, "CPUs online", count(facts.cpu.cpus.len()));
    settings.put(machine, "NUMA nodes", count(facts.cpu.nodes.len()));
    settings.put(machine, "threads per core", host.smt.clone());
    settings.put(machine, "memory fitted", facts.memory.total_mib.map(fitted));
    cpus(&facts.cpu, settings);
    memory(&facts.memory, settings);
    settings.about("");
    for (name, value) in &facts.sysctl {
        if !DERIVED.contains(&name.as_str()) {
            settings.listed(Area::Sysctls, name, value.clone());
        }
    }
    for (name, value) in &facts.module_parameters {
        settings.listed(Area::Modules, name, value.clone());
    }
    let kinds: Vec<&str> = facts.iommu_groups.keys().map(String::as_str).collect();
    let kinds = (!kinds.is_empty()).then(|| kinds.join(", "));
    settings.put(Area::Modules, "IOMMU groups", kinds);
    // A record without a kernel's version has no processes either.
    if known(&host.kernel).is_some() {
        services(&facts.services, settings);
    }
}

/// Memory as it is bought: the kernel takes a part that varies by host and version, up to an eighth.
fn fitted(mib: u64) -> String {
    let step = (mib.max(8).ilog2() - 3).min(40);
    let whole = mib.div_ceil(1 << step) << step;
    match whole % 1024 {
        0 => format!("{} GiB", whole / 1024),
        _ => format!("{whole} MiB"),
    }
}

fn cpus(cpu: &CpuFacts, settings: &mut Settings) {
    let area = Area::Cpus;
    settings.about("");
    let governors = cpu.governor.values().map(|word| normal(word));
    settings.put(area, "governor", together(governors));
    settings.put(area, "frequency driver", cpu.frequency_driver.clone());
    let preferences = cpu.energy_preference.values().map(|word| normal(word));
    settings.put(area, "energy preference", together(preferences));
    settings.put(area, "idle driver", cpu.idle_driver.clone());
    settings.put(
        area,
        "deepest idle state",
        together(cpu.idle.iter().map(deepest)),
    );
    let known = |cpus: &[u32]| (!cpu.cpus.is_empty()).then(|| list(cpus));
    settings.put(area, "isolated CPUs", known(&cpu.isolated));
    settings.put(area, "CPUs without a tick", known(&cpu.nohz_full));
    for (name, state) in &cpu.mitigations {
        settings.listed(
            Area::Mitigations,
            &format!("mitigation {name}"),
            state.clone(),
        );
    }
}

/// Blanks and letters' case do not matter.
fn normal(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

fn list(cpus: &[u32]) -> String {
    if cpus.is_empty() {
        "none".to_owned()
    } else {
        format_cpu_list(cpus)
    }
}

/// The deepest state that a CPU may enter.
fn deepest(idle: &CpuIdle) -> String {
    let limit = idle.latency_limit_us.unwrap_or(u32::MAX);
    let mut allowed = idle
        .states
        .iter()
        .filter(|state| !state.disabled && state.latency_us <= limit);
    allowed
        .next_back()
        .map_or_else(|| "none".to_owned(), |state| state.name.clone())
}

fn memory(memory: &MemoryFacts, settings: &mut Settings) {
    settings.about("");
    if memory.total_mib.is_some() {
        settings.knows(Area::HugePages);
    }
    let mut sizes: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for pages in &memory.hugepages {
        let place = pages
            .node
            .map_or_else(String::new, |node| format!(" on node {node}"));
        let words = format!("{}{place}", pages.total);
        sizes.entry(pages.size_kib).or_default().push(words);
    }
    for (kib, words) in sizes {
        let size = match kib {
            kib if kib % (1 << 20) == 0 => format!("{} GiB", kib >> 20),
            kib if kib % 1024 == 0 => format!("{} MiB", kib >> 10),
            kib => format!("{kib} KiB"),
        };
        let name = format!("huge pages of {size}");
        settings.listed(Area::HugePages, &name, words.join(", "));
    }
    let area = Area::Memory;
    settings.put(area, "transparent huge pages", memory.transparent.clone());
    settings.put(
        area,
        "compaction for huge pages",
        memory.transparent_defrag.clone(),
    );
}

fn services(services: &Services, settings: &mut Settings) {
    settings.about("");
    let mut run = |name: &str, runs: bool| {
        let word = if runs { "runs" } else { "does not run" };
        settings.put(Area::Services, name, word.to_owned());
    };
    run("irqbalance", services.irqbalance);
    run("tuned", services.tuned);
    run("NetworkManager", services.network_manager);
    run("systemd-networkd", services.networkd);
    run("dockerd", services.docker);
    run("kubelet", services.kubelet);
    run("libvirt", services.libvirt);
    run("ovs-vswitchd", services.open_vswitch);
    let on = |on: bool| if on { "on" } else { "off" }.to_owned();
    let area = Area::Services;
    settings.put(area, "tuned profile", services.tuned_profile.clone());
    settings.put(area, "tuned dynamic tuning", services.tuned_dynamic.map(on));
    settings.put(
        area,
        "irqbalance options",
        services.irqbalance_options.clone(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_was_bought() {
        for (mib, words) in [
            (128_500, "128 GiB"),
            (128_900, "128 GiB"),
            (257_400, "256 GiB"),
            (257_900, "256 GiB"),
            (515_300, "512 GiB"),
            (773_000, "768 GiB"),
            (7_800, "8 GiB"),
            (0, "0 GiB"),
            (500, "512 MiB"),
        ] {
            assert_eq!(fitted(mib), words, "{mib}");
        }
        assert!(fitted(u64::MAX >> 1).ends_with("GiB"));
    }

    #[test]
    fn values_of_many_cpus_are_one() {
        let words = |all: &[&str]| together(all.iter().map(|one| (*one).to_owned()));
        assert_eq!(words(&[]), None);
        assert_eq!(words(&["a", "a"]).as_deref(), Some("a"));
        assert_eq!(words(&["b", "a", "b"]).as_deref(), Some("a 1, b 2"));
    }
}
