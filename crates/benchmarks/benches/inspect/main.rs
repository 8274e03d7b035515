//! `nicety inspect` of a large recorded host and of this one, beside the calls of ethtool, ip, tc
//! and lscpu that read the same of this one, in turn, in the same run.
//!
//! `cargo bench -p nicety-benchmarks --bench inspect` prints a table and writes `bench/inspect.json` under the
//! target directory. `NICETY_BENCH_ROUNDS` makes it shorter.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod tree;
mod tuned;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::nicety;
use nicety_benchmarks::program::{Spent, run, version};
use nicety_benchmarks::start::{is_asked_for, setting};
use serde_json::{Map, Value, json};
use tuned::Tuned;

/// What ethtool is asked of every interface: what inspect tells of it.
const ETHTOOL: [&[&str]; 8] = [
    &[],
    &["-i"],
    &["-g"],
    &["-c"],
    &["-k"],
    &["-l"],
    &["-x"],
    &["-S"],
];

const AIMS: [(&str, f64); 3] = [
    ("recorded host ms", 300.0),
    ("recorded host MB", 50.0),
    (HERE, 50.0),
];
const HERE: &str = "this host ms";
const OTHERS: &str = "this host by ethtool, ip, tc, lscpu ms";

fn main() -> Result<()> {
    if !is_asked_for("inspect") {
        return Ok(());
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 11_usize)?;
    let dir = tempfile::tempdir()?;
    let host = dir.path().join("host");
    let files = tree::write(&host)?;
    println!("recorded: {files} files, {:?}", tree::SIZE);
    let (kept, state) = (dir.path().join("kept.json"), dir.path().join("state"));
    std::fs::write(&kept, kept_settings())?;
    let (host, kept, state) = (path(&host)?, path(&kept)?, path(&state)?);
    let mut figures = Figures::default();
    let peers = peers(&mut figures);
    let tuned = Tuned::start(dir.path(), &mut figures)?;
    // Once unmeasured: files and programs come from the disk.
    inspect(&["--sysroot", host])?;
    for round in 0..rounds {
        figures.next_round();
        let recorded = inspect(&["--sysroot", host])?;
        figures.put_all("recorded host", [("ms", recorded.ms), ("MB", recorded.mb)]);
        let plan = ["tune", "plan", "--json", host];
        figures.put("plan for the recorded host ms", run(nicety(), &plan)?.ms);
        // Every other round the other way round.
        for who in [round % 2, (round + 1) % 2] {
            if who == 0 {
                let here = inspect(&[])?;
                figures.put_all("this host", [("ms", here.ms), ("MB", here.mb)]);
            } else if ["ethtool", "ip", "lscpu"]
                .iter()
                .all(|peer| peers.contains_key(*peer))
            {
                figures.put(OTHERS, others()?);
            }
        }
        let check = ["tune", "boot", "--check", "--kept", kept, "--state", state];
        figures.put("settings verified ms", run(nicety(), &check)?.ms);
        if let Some(tuned) = &tuned {
            figures.put("tuned-adm verify ms", tuned.verify()?);
        }
    }
    figures.ratio(None, HERE, OTHERS);
    figures.ratio(None, "settings verified ms", "tuned-adm verify ms");
    figures.finish("inspect", &peers)?;
    figures.judge(AIMS);
    Ok(())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str()
        .context("the temporary folder has no name in UTF-8")
}

fn inspect(more: &[&str]) -> Result<Spent> {
    run(nicety(), &[&["inspect", "--json"], more].concat())
}

/// All calls that together read what `inspect` reads of links, queues and CPUs.
fn others() -> Result<f64> {
    let names = std::fs::read_dir("/sys/class/net")?;
    let names: Vec<String> = names
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name != "lo" && name != "bonding_masters")
        .collect();
    let begin = Instant::now();
    run("ip", &["-d", "-s", "-j", "link"])?;
    run("tc", &["-s", "-j", "qdisc"])?;
    run("lscpu", &["-J"])?;
    run("lscpu", &["-J", "-e=cpu,core,socket,node"])?;
    for name in &names {
        for words in ETHTOOL {
            run("ethtool", &[words, &[name.as_str()]].concat())?;
        }
    }
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

/// Those that are here, with their versions.
fn peers(figures: &mut Figures) -> Map<String, Value> {
    let mut found = Map::new();
    for (name, word) in [
        ("ethtool", "--version"),
        ("ip", "-V"),
        ("lscpu", "--version"),
        ("tuned-adm", "--version"),
    ] {
        match version(name, &[word]) {
            Ok(version) => drop(found.insert(name.to_owned(), json!(version))),
            Err(error) => figures.skip(name, format!("{error:#}")),
        }
    }
    found
}

/// The settings that tuned's network profiles have, and their values now.
fn settings() -> impl Iterator<Item = (&'static str, String)> {
    let names = [
        "net.core.busy_poll",
        "net.core.busy_read",
        "net.ipv4.tcp_fastopen",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
        "net.core.rmem_max",
        "net.core.wmem_max",
        "net.core.netdev_max_backlog",
    ];
    names.into_iter().filter_map(|name| {
        let file = format!("/proc/sys/{}", name.replace('.', "/"));
        let value = std::fs::read_to_string(file).ok()?;
        let value: Vec<&str> = value.split_whitespace().collect();
        Some((name, value.join(" ")))
    })
}

/// The same for `nicety tune boot --check`.
fn kept_settings() -> String {
    let kept = |(name, value): (&str, String)| {
        let knob = json!({"kind": "sysctl", "name": name});
        let target = json!({"what": "setting", "knob": knob});
        json!({"target": target, "value": value})
    };
    let settings: Vec<Value> = settings().map(kept).collect();
    json!({"schema": 1, "settings": settings}).to_string()
}
