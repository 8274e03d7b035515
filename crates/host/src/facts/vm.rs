//! QEMU processes: their threads, devices, and where their memory is.

use std::collections::BTreeMap;

use nicety_model::cpu_list::parse_cpu_list;
use nicety_model::facts::{VmFacts, VmKind, VmThread};

use super::services::Processes;
use super::{function, vm_args, vm_taps};
use crate::roots::{ProcRoot, Roots};
use crate::tasks::TaskSample;

pub(super) fn read(roots: &Roots, processes: &Processes) -> Vec<VmFacts> {
    let qemus = processes.qemus();
    qemus.filter_map(|pid| one(roots, processes, pid)).collect()
}

fn one(roots: &Roots, processes: &Processes, pid: u32) -> Option<VmFacts> {
    let proc = &roots.proc;
    // NUL between the words; only what tells of CPUs, memory and network is kept.
    let cmdline = proc.text_as(format!("{pid}/cmdline"), vm_args::public)?;
    let arguments = vm_args::Arguments::parse(&cmdline);
    let mut vcpus = Vec::new();
    let mut vhost = Vec::new();
    let tasks = proc.entries(format!("{pid}/task"));
    let tids = tasks.iter().filter_map(|name| name.parse::<u32>().ok());
    for tid in tids {
        let dir = format!("{pid}/task/{tid}");
        let Some(name) = proc.text(format!("{dir}/comm")) else {
            continue;
        };
        // QEMU names vCPU threads with debug-threads=on, which libvirt always sets.
        if name.starts_with("CPU ") {
            vcpus.push(thread(proc, &dir, tid, name));
        } else if name == format!("vhost-{pid}") {
            vhost.push(thread(proc, &dir, tid, name));
        }
    }
    vhost.extend(
        processes
            .vhost_of(pid)
            .map(|tid| thread(proc, &tid.to_string(), tid, format!("vhost-{pid}"))),
    );
    let (memory_mib, huge_mib) = memory(proc, pid);
    // A thread's name tells what drives its vCPU (accel/kvm/kvm-accel-ops.c).
    let driven = vcpus.iter().find_map(|vcpu| vcpu.name.rsplit_once('/'));
    let mut nics = vm_taps::named(roots, pid, arguments.nics);
    nics.retain_mut(|nic| function::locate(&roots.sys, nic));
    Some(VmFacts {
        kind: VmKind::Qemu,
        name: arguments.name.unwrap_or_else(|| format!("pid {pid}")),
        pid: Some(pid),
        start_ticks: TaskSample::read(proc, pid)
            .ok()
            .map(|task| task.start_ticks),
        kvm: driven.map(|(_, by)| by == "KVM").or(arguments.kvm),
        vcpus,
        vhost,
        nics,
        memory_mib,
        huge_mib,
    })
}

fn thread(proc: &ProcRoot, dir: &str, tid: u32, name: String) -> VmThread {
    let status = proc.text_as(format!("{dir}/status"), |text| {
        let wanted = text
            .lines()
            .filter(|line| line.starts_with("Cpus_allowed_list:"));
        wanted.collect::<Vec<_>>().join("\n")
    });
    let cpus = status.as_deref().and_then(|status| {
        let list = status.strip_prefix("Cpus_allowed_list:")?;
        parse_cpu_list(list)
    });
    // The name may hold blanks and parentheses; the CPU is field 39 (proc(5)).
    let last_cpu = proc.text(format!("{dir}/stat")).and_then(|stat| {
        let (_, tail) = stat.rsplit_once(')')?;
        tail.split_ascii_whitespace().nth(36)?.parse().ok()
    });
    VmThread {
        tid,
        name,
        cpus: cpus.unwrap_or_default(),
        last_cpu,
    }
}

/// Memory by node in MiB, and how much of it is in huge pages.
fn memory(proc: &ProcRoot, pid: u32) -> (BTreeMap<u32, u64>, u64) {
    let text = proc
        .text_as(format!("{pid}/numa_maps"), summed)
        .unwrap_or_default();
    let mut kib_by_node: BTreeMap<u32, u64> = BTreeMap::new();
    let mut huge_kib = 0;
    for (node, page_kib, pages) in node_pages(&text) {
        *kib_by_node.entry(node).or_default() += pages * page_kib;
        if page_kib > BASE_PAGE_KIB {
            huge_kib += pages * page_kib;
        }
    }
    let rollup = proc.text_as(format!("{pid}/smaps_rollup"), |text| {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("AnonHugePages:"));
        lines.collect::<Vec<_>>().join("\n")
    });
    let transparent = rollup.and_then(|line| {
        let kib = line.split_ascii_whitespace().nth(1)?;
        kib.parse::<u64>().ok()
    });
    huge_kib += transparent.unwrap_or(0);
    let mib = |(node, kib): (u32, u64)| (node, kib / 1024);
    (kib_by_node.into_iter().map(mib).collect(), huge_kib / 1024)
}

/// Pages larger than the largest base page of any architecture (64 KiB) are huge.
const BASE_PAGE_KIB: u64 = 64;

/// Node, page size in KiB and pages of every line of numa_maps (Documentation/admin-guide/mm).
fn node_pages(text: &str) -> impl Iterator<Item = (u32, u64, u64)> {
    text.lines().flat_map(|line| {
        let words = line.split_ascii_whitespace();
        let page_kib: u64 = words
            .clone()
            .find_map(|word| word.strip_prefix("kernelpagesize_kB=")?.parse().ok())
            .unwrap_or(4);
        words.filter_map(move |word| {
            let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
            Some((node.parse().ok()?, page_kib, pages.parse().ok()?))
        })
    })
}

/// The same sums in fewer lines and without addresses and file names.
fn summed(text: &str) -> String {
    let mut sums: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    for (node, page_kib, pages) in node_pages(text) {
        *sums.entry((node, page_kib)).or_default() += pages;
    }
    let lines: Vec<String> = sums
        .iter()
        .map(|((node, page_kib), pages)| format!("N{node}={pages} kernelpagesize_kB={page_kib}"))
        .collect();
    lines.join("\n")
}
