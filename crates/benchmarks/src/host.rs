//! Files of a large KVM host: a recorded machine, grown to as many CPUs, ports and guests as wanted.

mod hardware;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

/// The machine that was recorded.
const RECORDED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/cases/advice/cloud-vm/host.json"
);
const VCPUS: u32 = 4;

/// Files of a host by path.
pub type Files = BTreeMap<String, String>;

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Sockets, each a node of memory.
    pub nodes: u32,
    pub cpus: u32,
    pub ports: u32,
    /// Of each port.
    pub queues: u32,
    /// Virtual functions of each port.
    pub functions: u32,
    pub guests: u32,
}

/// The recorded machine with more of what it has.
pub fn grown(size: &Size) -> Result<Files> {
    let text = fs::read_to_string(RECORDED).context(RECORDED)?;
    let mut captured: Value = serde_json::from_str(&text)?;
    let mut files: Files = serde_json::from_value(captured["files"].take())?;
    cpus(&mut files, size);
    hardware::links(&mut files, size)?;
    hardware::interrupts(&mut files, size);
    guests(&mut files, size);
    Ok(files)
}

/// Numbers of every CPU, as tables of the kernel begin.
fn cpu_names(size: &Size) -> String {
    let names: Vec<String> = (0..size.cpus).map(|cpu| format!("CPU{cpu}")).collect();
    names.join(" ")
}

/// No CPU, as the kernel prints it for so many.
fn mask(size: &Size) -> String {
    vec!["00000000"; size.cpus.div_ceil(32) as usize].join(",")
}

fn cpus(files: &mut Files, size: &Size) {
    let dir = "sys/devices/system/cpu";
    let own = |(path, text): (&String, &String)| {
        let rest = path.strip_prefix(dir)?.strip_prefix("/cpu0/")?;
        Some((rest.to_owned(), text.clone()))
    };
    let first: Files = files.iter().filter_map(own).collect();
    let half = size.cpus / 2;
    for cpu in 0..size.cpus {
        let dir = format!("{dir}/cpu{cpu}");
        for (path, text) in &first {
            files.insert(format!("{dir}/{path}"), text.clone());
        }
        let siblings = format!("{},{}", cpu % half, cpu % half + half);
        let socket = cpu % size.nodes;
        for (file, text) in [
            ("topology/core_cpus_list", siblings),
            ("topology/physical_package_id", socket.to_string()),
            ("cpufreq/scaling_governor", "performance".to_owned()),
        ] {
            files.insert(format!("{dir}/{file}"), text);
        }
    }
    files.insert(format!("{dir}/online"), format!("0-{}", size.cpus - 1));
    nodes(files, size);
    // Every CPU's own, as on the recorded machine.
    let cpuinfo = &files["proc/cpuinfo"];
    let processor = cpuinfo.split("\nprocessor").next().unwrap_or_default();
    let all: Vec<String> = (0..size.cpus)
        .map(|cpu| processor.replace("processor\t: 0", &format!("processor\t: {cpu}")))
        .collect();
    files.insert("proc/cpuinfo".to_owned(), all.join("\n\n"));
}

fn nodes(files: &mut Files, size: &Size) {
    for node in 0..size.nodes {
        let cpus = (node..size.cpus).step_by(size.nodes as usize);
        let cpus: Vec<String> = cpus.map(|cpu| cpu.to_string()).collect();
        let distance = |other: u32| if other == node { "10" } else { "21" };
        let distances: Vec<&str> = (0..size.nodes).map(distance).collect();
        let dir = format!("sys/devices/system/node/node{node}");
        files.insert(format!("{dir}/cpulist"), cpus.join(","));
        files.insert(format!("{dir}/distance"), distances.join(" "));
    }
}

fn guests(files: &mut Files, size: &Size) {
    for guest in 0..size.guests {
        let pid = 10_000 + guest * 20;
        let words = format!(
            "qemu-system-x86_64 -name guest=vm{guest} -machine pc-q35,accel=kvm \
             -netdev tap,id=n0,ifname=vnet{guest},vhost=on -device virtio-net-pci,netdev=n0"
        );
        let memory = "N0=262144 kernelpagesize_kB=4".to_owned();
        for (file, text) in [
            ("comm", "qemu-system-x86".to_owned()),
            ("cmdline", words.replace(' ', "\0")),
            ("numa_maps", memory),
        ] {
            files.insert(format!("proc/{pid}/{file}"), text);
        }
        let threads = (0..VCPUS)
            .map(|vcpu| format!("CPU {vcpu}/KVM"))
            .chain([format!("vhost-{pid}"), "qemu-system-x86".to_owned()]);
        for (tid, name) in (pid..).zip(threads) {
            let dir = format!("proc/{pid}/task/{tid}");
            files.insert(format!("{dir}/comm"), name);
            let status = format!("Cpus_allowed_list:\t0-{}", size.cpus - 1);
            files.insert(format!("{dir}/status"), status);
        }
    }
}
