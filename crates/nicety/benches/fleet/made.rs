//! A fleet of KVM hosts: a recorded machine, grown to 64 CPUs, four ports and 24 guests, once for each host,
//! with differences planted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The machine that was recorded.
const RECORDED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/cases/advice/cloud-vm/host.json"
);
const CPUS: u32 = 64;
const NODES: u32 = 2;
const PORTS: u32 = 4;
const QUEUES: u32 = 32;
const GUESTS: u32 = 24;
const VCPUS: u32 = 4;

/// What is planted: a setting as the report names it, and how many hosts have another value, one in so many.
pub const PLANTED: [(&str, usize); 7] = [
    ("kernel", 3),
    ("eth0 receive ring", 40),
    ("eth1 MTU", 125),
    ("eth2 queues", 250),
    ("eth0 offload rx-gro", 500),
    ("net.core.rmem_max", 100),
    ("governor", 25),
];

/// Files of a host by path.
type Files = BTreeMap<String, String>;

/// Writes captures of so many hosts; returns files of a host and bytes of all captures.
pub fn write(folder: &Path, hosts: usize) -> Result<(usize, u64)> {
    let text = fs::read_to_string(RECORDED).context(RECORDED)?;
    let mut captured: Value = serde_json::from_str(&text)?;
    let recorded: Files = serde_json::from_value(captured["files"].take())?;
    let host = grown(recorded)?;
    let mut bytes = 0;
    for at in 0..hosts {
        let mut files = host.clone();
        plant(&mut files, at)?;
        let name = format!("kvm{:04}", at + 1);
        let identity = json!({"host": name, "captured_unix_s": 1_790_000_000 + at});
        files.insert("nicety/identity.json".to_owned(), identity.to_string());
        let capture = json!({"schema": 1, "files": files, "links": {}}).to_string();
        bytes += capture.len() as u64;
        let path = folder.join(format!("{name}.json"));
        fs::write(&path, capture).with_context(|| path.display().to_string())?;
    }
    Ok((host.len(), bytes))
}

fn plant(files: &mut Files, at: usize) -> Result<()> {
    let planted = |setting: &str| {
        let one_in = PLANTED.iter().find(|(name, _)| *name == setting);
        one_in.is_some_and(|(_, one_in)| at.is_multiple_of(*one_in))
    };
    for (setting, file, text) in [
        ("kernel", "proc/sys/kernel/osrelease", "6.1.0-28-amd64\n"),
        (
            "net.core.rmem_max",
            "proc/sys/net/core/rmem_max",
            "8388608\n",
        ),
    ] {
        if planted(setting) {
            files.insert(file.to_owned(), text.to_owned());
        }
    }
    for cpu in 0..CPUS {
        let governor = if planted("governor") {
            "powersave"
        } else {
            "performance"
        };
        let dir = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        files.insert(format!("{dir}/scaling_governor"), governor.to_owned());
    }
    let links = files.get("nicety/links.json").context("no links")?;
    let mut links: Vec<Value> = serde_json::from_str(links)?;
    if planted("eth0 receive ring") {
        links[0]["rings"]["rx"] = json!(256);
    }
    if planted("eth1 MTU") {
        links[1]["mtu"] = json!(9000);
    }
    if planted("eth2 queues") {
        links[2]["queues"]["combined"] = json!(QUEUES / 2);
    }
    if planted("eth0 offload rx-gro") {
        links[0]["features"]["rx-gro"]["on"] = json!(false);
    }
    files.insert(
        "nicety/links.json".to_owned(),
        serde_json::to_string(&links)?,
    );
    Ok(())
}

/// The recorded machine with more of what it has.
fn grown(mut files: Files) -> Result<Files> {
    let links: Vec<Value> = serde_json::from_str(&files["nicety/links.json"])?;
    let port = links.iter().find(|link| link["name"] == "eth0");
    let port = port.context("the recorded machine has no eth0")?.clone();
    cpus(&mut files);
    files.insert("nicety/links.json".to_owned(), all_links(&port)?);
    ports(&mut files);
    guests(&mut files);
    Ok(files)
}

fn cpus(files: &mut Files) {
    let dir = "sys/devices/system/cpu";
    let first: Files = files
        .iter()
        .filter_map(|(path, text)| {
            let rest = path.strip_prefix(dir)?.strip_prefix("/cpu0/")?;
            Some((rest.to_owned(), text.clone()))
        })
        .collect();
    for cpu in 0..CPUS {
        for (path, text) in &first {
            files.insert(format!("{dir}/cpu{cpu}/{path}"), text.clone());
        }
        let (core, socket) = (cpu % (CPUS / 2), cpu % 2);
        let topology = format!("{dir}/cpu{cpu}/topology");
        let siblings = format!("{core},{}", core + CPUS / 2);
        files.insert(format!("{topology}/core_cpus_list"), siblings);
        files.insert(
            format!("{topology}/physical_package_id"),
            socket.to_string(),
        );
    }
    files.insert(format!("{dir}/online"), format!("0-{}", CPUS - 1));
    for node in 0..NODES {
        let cpus: Vec<String> = (node..CPUS).step_by(2).map(|cpu| cpu.to_string()).collect();
        let dir = format!("sys/devices/system/node/node{node}");
        files.insert(format!("{dir}/cpulist"), cpus.join(","));
        files.insert(
            format!("{dir}/distance"),
            if node == 0 { "10 21" } else { "21 10" }.to_owned(),
        );
    }
    // Every CPU's own, as on the recorded machine.
    let processor = files["proc/cpuinfo"]
        .split("\n\n")
        .next()
        .unwrap_or_default();
    let all: Vec<String> = (0..CPUS)
        .map(|cpu| processor.replace("processor\t: 0", &format!("processor\t: {cpu}")))
        .collect();
    files.insert("proc/cpuinfo".to_owned(), all.join("\n\n"));
}

fn all_links(port: &Value) -> Result<String> {
    let mut links = Vec::new();
    for at in 0..PORTS {
        let mut link = port.clone();
        link["name"] = json!(format!("eth{at}"));
        link["index"] = json!(at + 2);
        link["driver"] = json!("ice");
        link["firmware"] = json!("4.40 0x8001c967 1.3534.0");
        link["bus"] = json!(format!("0000:{:02x}:00.0", 0x40 + at));
        link["up"] = json!(true);
        link["carrier"] = json!(true);
        link["mtu"] = json!(1500);
        link["speed_mbps"] = json!(25_000);
        link["rings"] = json!({"rx": 2048, "rx_max": 8160, "tx": 2048, "tx_max": 8160});
        link["queues"] =
            json!({"rx": QUEUES, "tx": QUEUES, "combined": QUEUES, "combined_max": 64});
        if at < 2 {
            link["master"] = json!("bond0");
        }
        links.push(link);
    }
    for (index, name, kind, master) in [
        (10, "bond0", "bond", Some("br0")),
        (11, "br0", "bridge", None),
    ] {
        links.push(
            json!({"name": name, "index": index, "kind": kind, "up": true, "carrier": true,
                          "mtu": 1500, "master": master, "queues": {"rx": 16, "tx": 16}}),
        );
    }
    for guest in 0..GUESTS {
        let mut link = port.clone();
        link["name"] = json!(format!("vnet{guest}"));
        link["index"] = json!(20 + guest);
        link["kind"] = json!("tun");
        link["driver"] = json!("tun");
        link["master"] = json!("br0");
        links.push(link);
    }
    Ok(serde_json::to_string(&links)?)
}

fn ports(files: &mut Files) {
    let names: Vec<String> = (0..CPUS).map(|cpu| format!("CPU{cpu}")).collect();
    let mut interrupts = names.join(" ");
    for port in 0..PORTS {
        let dir = format!("sys/class/net/eth{port}");
        let node = port % NODES;
        files.insert(format!("{dir}/device/numa_node"), node.to_string());
        files.insert(format!("{dir}/ifindex"), (port + 2).to_string());
        for queue in 0..QUEUES {
            let irq = 100 + port * QUEUES + queue;
            let cpu = (queue * 2 + node) % CPUS;
            let mut counts = vec!["0"; CPUS as usize];
            counts[cpu as usize] = "35620700";
            interrupts += &format!(
                "\n{irq}: {} IR-PCI-MSI {irq}-edge ice-eth{port}-TxRx-{queue}",
                counts.join(" ")
            );
            for (file, text) in [
                ("smp_affinity_list", cpu.to_string()),
                ("effective_affinity_list", cpu.to_string()),
                ("affinity_hint", "0".to_owned()),
            ] {
                files.insert(format!("proc/irq/{irq}/{file}"), text);
            }
            for (file, text) in [
                (format!("rx-{queue}/rps_cpus"), "00000000,00000000"),
                (format!("rx-{queue}/rps_flow_cnt"), "0"),
                (format!("tx-{queue}/xps_cpus"), "00000000,00000001"),
            ] {
                files.insert(format!("{dir}/queues/{file}"), text.to_owned());
            }
        }
    }
    files.insert("proc/interrupts".to_owned(), interrupts);
}

fn guests(files: &mut Files) {
    for guest in 0..GUESTS {
        let pid = 10_000 + guest * 20;
        let words = [
            "qemu-system-x86_64",
            "-name",
            &format!("guest=vm{guest}"),
            "-machine",
            "pc-q35,accel=kvm",
            "-netdev",
            &format!("tap,id=n0,ifname=vnet{guest},vhost=on"),
            "-device",
            "virtio-net-pci,netdev=n0",
        ];
        let dir = format!("proc/{pid}");
        files.insert(format!("{dir}/comm"), "qemu-system-x86".to_owned());
        files.insert(format!("{dir}/cmdline"), words.join("\0"));
        let memory = "N0=262144 kernelpagesize_kB=4".to_owned();
        files.insert(format!("{dir}/numa_maps"), memory);
        let threads = (0..VCPUS)
            .map(|vcpu| format!("CPU {vcpu}/KVM"))
            .chain([format!("vhost-{pid}"), "qemu-system-x86".to_owned()]);
        for (tid, name) in (pid..).zip(threads) {
            let dir = format!("{dir}/task/{tid}");
            files.insert(format!("{dir}/comm"), name);
            let status = format!("Cpus_allowed_list:\t0-{}", CPUS - 1);
            files.insert(format!("{dir}/status"), status);
        }
    }
}
