//! What the daemon costs for many ports, beside a loop of ip(8).

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;
use serde_json::{Map, Value, json};

use crate::rig::{Held, Rig, inside};
use crate::{number, watch};

const PORTS: usize = 256;
const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_secs(4);
/// Calls of ip(8) in a round.
const CALLS: u32 = 15;

/// What a daemon does besides, in its policy: for all, and for each tenant.
const BESIDES: [(&str, &str, &str, &str); 3] = [
    (
        "what they receive limited too",
        "received",
        "",
        "rx_max = \"5gbit\"\n",
    ),
    ("bills kept", "bills", "[bills]\n", ""),
    ("both", "both", "[bills]\n", "rx_max = \"5gbit\"\n"),
];

/// 256 veths, and the namespace of their other ends.
struct Veths {
    rig: Rig,
    ports: usize,
    _others: NetNs,
}

impl Veths {
    fn new() -> Result<Self> {
        let ports = number("NICETY_BENCH_PORTS")?.unwrap_or(PORTS);
        let rig = Rig::new(&[], 1_000)?;
        let others = NetNs::create("others")?;
        let links = Links::open(&rig.hub)?;
        for port in 0..ports {
            let (near, far) = (format!("p{port}"), format!("g{port}"));
            let near_end = VethEnd::plain(&rig.hub, &near);
            links.add_veth(near_end, VethEnd::plain(&others, &far))?;
            links.set_up(&near)?;
        }
        Ok(Self {
            rig,
            ports,
            _others: others,
        })
    }

    /// A daemon that samples them ten times a second, once its limiters are made.
    fn held(&self, for_all: &str, for_each: &str) -> Result<Held> {
        let mut policy = format!("[link]\ncapacity = \"10gbit\"\nperiod = \"100ms\"\n{for_all}");
        for port in 0..self.ports {
            policy += &format!("[[tenant]]\nname = \"{port}\"\nports = \"p{port}\"\n{for_each}");
        }
        let held = self.rig.daemon(&policy)?;
        std::thread::sleep(Duration::from_secs(3));
        Ok(held)
    }
}

/// Samples 256 veths ten times a second.
pub fn measure(figures: &mut Map<String, Value>, ratios: &mut Map<String, Value>) -> Result<()> {
    watch::phase("cost", Duration::from_secs(90));
    let veths = Veths::new()?;
    let rig = &veths.rig;
    let held = veths.held("", "")?;
    let id = held.id();
    let (mut shares, mut calls) = (Vec::new(), Vec::new());
    let first = user_and_kernel(id)?;
    for _ in 0..ROUNDS {
        let (begin, before) = (Instant::now(), cpu_seconds(id)?);
        std::thread::sleep(TIME);
        shares.push((cpu_seconds(id)? - before) / begin.elapsed().as_secs_f64());
        let before = children_seconds();
        for _ in 0..CALLS {
            inside(&rig.hub, &["ip", "-s", "-j", "link", "show"])?;
        }
        calls.push(10.0 * (children_seconds() - before) / f64::from(CALLS));
    }
    // Over all rounds, and of the same source: the kernel counts both in ticks of 10 ms.
    let last = user_and_kernel(id)?;
    let [user, kernel] = [0, 1].map(|mode| last[mode] - first[mode]);
    let kernel = kernel / (user + kernel);
    let memory = memory_mb(id)?;
    let mut each: Vec<f64> = calls
        .iter()
        .zip(&shares)
        .map(|(ip, own)| ip / own)
        .collect();
    let (share, ip, ratio) = (median(&mut shares), median(&mut calls), median(&mut each));
    let ports = veths.ports;
    println!(
        "\n{ports} ports, 10 periods a second: {:.2} % of a core (aim: 1 %), about {:.0} % of that \
         in the kernel, {memory:.1} MB (aim: 20)\n\
         ip -s -j link show as often: {:.1} % of a core, {ratio:.1} times as much (aim: 20)",
        100.0 * share,
        100.0 * kernel,
        100.0 * ip
    );
    figures.insert("cost_256_ports_10_hz_core_ratio".to_owned(), json!(share));
    figures.insert("cost_256_ports_in_kernel_ratio".to_owned(), json!(kernel));
    figures.insert("cost_256_ports_memory_mb".to_owned(), json!(memory));
    figures.insert("cost_ip_10_hz_core_ratio".to_owned(), json!(ip));
    let ends = (each.first(), each.last());
    let value = json!({"median": ratio, "min": ends.0, "max": ends.1});
    ratios.insert("cost_ip_to_police".to_owned(), value);
    drop(held);
    println!("As much does a daemon cost that does more:");
    for (words, key, for_all, for_each) in BESIDES {
        watch::phase(key, Duration::from_secs(60));
        let held = veths.held(for_all, for_each)?;
        let id = held.id();
        let mut shares = Vec::new();
        for _ in 0..ROUNDS {
            let (begin, before) = (Instant::now(), cpu_seconds(id)?);
            std::thread::sleep(TIME);
            shares.push((cpu_seconds(id)? - before) / begin.elapsed().as_secs_f64());
        }
        let (share, memory) = (median(&mut shares), memory_mb(id)?);
        println!(
            "{words:<32}{:.2} % of a core, {memory:.1} MB",
            100.0 * share
        );
        figures.insert(format!("cost_256_ports_{key}_core_ratio"), json!(share));
        figures.insert(format!("cost_256_ports_{key}_memory_mb"), json!(memory));
    }
    Ok(())
}

/// The middle one; sorts.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// As `ip -V` tells it.
pub fn ip_version() -> Option<String> {
    let output = Command::new("ip").arg("-V").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Time on a CPU of all threads of a process, to the nanosecond (Documentation/scheduler/sched-stats).
fn cpu_seconds(id: u32) -> Result<f64> {
    let mut sum = 0.0;
    for task in std::fs::read_dir(format!("/proc/{id}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let first = text.split(' ').next().context("no schedstat")?;
        sum += first.parse::<f64>()? / 1e9;
    }
    Ok(sum)
}

/// Time that a process has spent in itself, and in the kernel.
fn user_and_kernel(id: u32) -> Result<[f64; 2]> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    let mode = |field| ticks(&stat, field..field + 1).context("no times in stat");
    Ok([mode(11)?, mode(12)?])
}

/// Of the children that have ended.
fn children_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks(&stat, 13..15).unwrap_or(0.0)
}

/// Seconds in some fields of proc_pid_stat(5), counted after the name.
fn ticks(stat: &str, fields: std::ops::Range<usize>) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let words: Vec<&str> = rest.split(' ').collect();
    let numbers = words.get(fields)?.iter().map(|word| word.parse::<f64>());
    let sum: f64 = numbers.sum::<Result<f64, _>>().ok()?;
    Some(sum / rustix::param::clock_ticks_per_second() as f64)
}

fn memory_mb(id: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb: f64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .context("no VmRSS")?
        .parse()?;
    Ok(kb / 1024.0)
}
