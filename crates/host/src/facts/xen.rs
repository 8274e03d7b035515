//! Xen's first domain: what `xl info` and `xl vcpu-list` print.
//!
//! The first domain's own /sys shows its vCPUs, not the machine: sockets and nodes come from the
//! hypervisor.

use std::collections::BTreeMap;

use nicety_model::cpu_list::parse_cpu_list;
use nicety_model::facts::{VmFacts, VmKind, VmThread, XenFacts};

use super::source::Source;

/// Facts of the machine; `None` unless this is Xen's first domain.
pub(super) fn read(source: &Source) -> Option<XenFacts> {
    if !is_first_domain(source) {
        return None;
    }
    let info = source
        .command("nicety/xl-info", &["xl", "info"])
        .unwrap_or_default();
    let value = |key: &str| {
        info.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    let number = |key: &str| value(key)?.parse().ok();
    let domains = domains(source);
    Some(XenFacts {
        cpus: number("nr_cpus"),
        nodes: number("nr_nodes"),
        cores_per_socket: number("cores_per_socket"),
        threads_per_core: number("threads_per_core"),
        memory_mib: value("total_memory").and_then(|text| text.parse().ok()),
        command_line: value("xen_commandline"),
        dom0_vcpus: domains
            .into_iter()
            .find(|(name, _)| name == FIRST)
            .map(|d| d.1)
            .unwrap_or_default(),
    })
}

/// Name of the first domain.
const FIRST: &str = "Domain-0";

/// The other domains.
pub(super) fn guests(source: &Source) -> Vec<VmFacts> {
    if !is_first_domain(source) {
        return Vec::new();
    }
    let guests = domains(source)
        .into_iter()
        .filter(|(name, _)| name != FIRST);
    guests
        .map(|(name, vcpus)| VmFacts {
            kind: VmKind::Xen,
            name,
            vcpus,
            ..VmFacts::default()
        })
        .collect()
}

fn is_first_domain(source: &Source) -> bool {
    let capabilities = source.roots.proc.text("xen/capabilities");
    capabilities.is_some_and(|text| text.contains("control_d"))
}

/// Columns: name, id, vCPU, CPU, state, time, hard affinity / soft affinity.
fn domains(source: &Source) -> BTreeMap<String, Vec<VmThread>> {
    let text = source.command("nicety/xl-vcpu-list", &["xl", "vcpu-list"]);
    let text = text.unwrap_or_default();
    let mut domains: BTreeMap<String, Vec<VmThread>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        // A name may hold blanks: count from the right. `all` means any CPU.
        let line = line.split(" / ").next().unwrap_or(line);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [name @ .., _id, vcpu, cpu, _state, _time, hard] = words.as_slice() else {
            continue;
        };
        let Ok(number) = vcpu.parse() else { continue };
        domains.entry(name.join(" ")).or_default().push(VmThread {
            tid: number,
            name: format!("vCPU {vcpu}"),
            cpus: parse_cpu_list(hard).unwrap_or_default(),
            last_cpu: cpu.parse().ok(),
        });
    }
    domains
}
