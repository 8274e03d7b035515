//! Captures of a fleet of KVM hosts, with differences planted.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use nicety_benchmarks::host::{Files, Size, grown};
use serde_json::{Value, json};

const SIZE: Size = Size {
    nodes: 2,
    cpus: 64,
    ports: 4,
    queues: 32,
    functions: 0,
    guests: 24,
};

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

/// Writes captures of so many hosts; returns files of a host and bytes of all captures.
pub fn write(folder: &Path, hosts: usize) -> Result<(usize, u64)> {
    let host = grown(&SIZE)?;
    let mut bytes = 0;
    for at in 0..hosts {
        let mut files = host.clone();
        for (setting, one_in) in PLANTED {
            if at.is_multiple_of(one_in) {
                plant(&mut files, setting)?;
            }
        }
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

fn plant(files: &mut Files, setting: &str) -> Result<()> {
    let mut put = |file: String, text: &str| drop(files.insert(file, text.to_owned()));
    match setting {
        "kernel" => put("proc/sys/kernel/osrelease".to_owned(), "6.1.0-28-amd64\n"),
        "net.core.rmem_max" => put("proc/sys/net/core/rmem_max".to_owned(), "8388608\n"),
        "governor" => (0..SIZE.cpus).for_each(|cpu| {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
            put(format!("{dir}/scaling_governor"), "powersave");
        }),
        _ => {
            let file = "nicety/links.json";
            let links = files.get(file).context("no links")?;
            let mut links: Value = serde_json::from_str(links)?;
            match setting {
                "eth0 receive ring" => links[0]["rings"]["rx"] = json!(256),
                "eth1 MTU" => links[1]["mtu"] = json!(9000),
                "eth2 queues" => links[2]["queues"]["combined"] = json!(SIZE.queues / 2),
                _ => links[0]["features"]["rx-gro"]["on"] = json!(false),
            }
            files.insert(file.to_owned(), links.to_string());
        }
    }
    Ok(())
}
