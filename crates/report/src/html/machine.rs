//! The machine's fingerprint and the command to repeat the run.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::Run;
use nicety_model::run::InterfaceFacts;

use super::parts;
use crate::number::ABSENT;

/// Fingerprint tables (RFC 8204 §3.3 lists what to record).
pub fn fingerprint(run: &Run) -> Markup {
    let (facts, unknown): (Vec<_>, Vec<_>) = facts(run)
        .into_iter()
        .partition(|(_, value)| !value.trim().is_empty());
    let unknown: Vec<&str> = unknown.into_iter().map(|(what, _)| what).collect();
    html! {
        (parts::table(
            "The machine",
            html! { tr { th scope="col" { "what" } th scope="col" { "value" } } },
            html! {
                @for (what, value) in &facts {
                    tr { th scope="row" { (what) } td.wrap { (value) } }
                }
                @if !unknown.is_empty() {
                    tr { th scope="row" { "none or not known" } td.wrap.muted { (unknown.join(", ")) } }
                }
            },
        ))
        @if !run.run.host.interfaces.is_empty() { (interfaces(&run.run.host.interfaces)) }
    }
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
        ("system", text(host.os.as_ref())),
        ("kernel", host.kernel.clone()),
        ("kernel command line", host.cmdline.clone()),
        ("hypervisor", text(host.hypervisor.as_ref())),
        ("CPU", host.cpu_model.clone()),
        ("CPUs online", host.cpus.to_string()),
        ("CPUs nicety may use", numbers(&host.cpus_allowed)),
        ("sockets", text(host.sockets)),
        ("NUMA nodes", nodes(&host.numa)),
        ("SMT", text(host.smt.as_ref())),
        ("governor", governors(&host.governor)),
        ("isolated CPUs", numbers(&host.isolated)),
        ("microcode", text(host.microcode.as_ref())),
        ("clock source", text(host.clocksource.as_ref())),
        (
            "memory",
            text(host.memory_mib.map(|mib| format!("{mib} MiB"))),
        ),
        ("huge pages, KiB: number", pairs(&host.hugepages)),
        ("mitigations", pairs(&host.mitigations)),
        ("sysctl", pairs(&host.sysctl)),
        ("firmware", text(host.bios.as_ref())),
    ]
}

fn interfaces(all: &BTreeMap<String, InterfaceFacts>) -> Markup {
    parts::table(
        "Interfaces",
        html! {
            tr {
                @for name in ["interface", "driver", "firmware", "bus", "NUMA"] { th scope="col" { (name) } }
                @for name in ["Mbit/s", "MTU"] { th.num scope="col" { (name) } }
                @for name in ["queues", "offloads on"] { th scope="col" { (name) } }
            }
        },
        html! {
            @for (name, facts) in all {
                tr {
                    th scope="row" { (name) }
                    td { (text(facts.driver.as_ref())) " " (facts.driver_version.as_deref().unwrap_or_default()) }
                    td { (dash(facts.firmware.as_ref())) }
                    td { (dash(facts.bus.as_ref())) }
                    td { (dash(facts.numa_node)) }
                    td.num { (dash(facts.speed_mbps.filter(|s| *s != 0 && *s != u32::MAX))) }
                    td.num { (dash(facts.mtu)) }
                    td { (dash(facts.queues.as_ref())) }
                    td.wrap { (dash(Some(facts.offloads.join(", ")).filter(|o| !o.is_empty()))) }
                }
            }
        },
    )
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |v| v.to_string())
}

fn pairs(map: &BTreeMap<String, impl std::fmt::Display>) -> String {
    let all: Vec<String> = map.iter().map(|(k, v)| format!("{k}: {v}")).collect();
    all.join("; ")
}

fn nodes(numa: &BTreeMap<String, Vec<u32>>) -> String {
    let all: Vec<String> = numa
        .iter()
        .map(|(node, cpus)| format!("{node}: CPUs {}", numbers(cpus)))
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
        .map(|(governor, n)| format!("{governor} ({})", crate::words::plural(*n, "CPU")))
        .collect();
    all.join(", ")
}

/// CPU numbers as the kernel writes lists: `0-3,8`.
fn numbers(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in sorted {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let all: Vec<String> = ranges
        .into_iter()
        .map(|(a, b)| {
            if a == b {
                a.to_string()
            } else {
                format!("{a}-{b}")
            }
        })
        .collect();
    all.join(",")
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn cpu_lists_are_folded() {
        assert_eq!(numbers(&[]), "");
        assert_eq!(numbers(&[3, 0, 1, 2, 8]), "0-3,8");
        assert_eq!(numbers(&[u32::MAX, 5, 5]), "5,4294967295");
    }
}
