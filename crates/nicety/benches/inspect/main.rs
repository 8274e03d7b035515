//! `nicety inspect` of a large recorded host and of this one, beside the calls of ethtool, ip, tc
//! and lscpu that read the same of this one, in turn, in the same run.
//!
//! `cargo bench -p nicety --bench inspect` prints a table and writes `bench/inspect.json` under the
//! target directory. `NICETY_BENCH_ROUNDS` makes it shorter.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "../tester/figures.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod figures;
mod program;
mod tree;
mod tuned;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Map, json};

use figures::Figures;
use program::{run, search_path};

const NICETY: &str = env!("CARGO_BIN_EXE_nicety");
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

/// Aims: name of the figure, and what it stays below.
const AIMS: [(&str, f64); 3] = [
    ("recorded host ms", 300.0),
    ("recorded host MB", 50.0),
    ("this host ms", 50.0),
];

fn main() -> Result<()> {
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench inspect");
        return Ok(());
    }
    let rounds = match std::env::var("NICETY_BENCH_ROUNDS").map(|text| text.parse::<usize>()) {
        Err(_) => 11,
        Ok(Ok(rounds)) if rounds > 0 => rounds,
        Ok(_) => bail!("NICETY_BENCH_ROUNDS must be a whole number above 0"),
    };
    let dir = tempfile::tempdir()?;
    let host = dir.path().join("host");
    let files = tree::write(&host)?;
    println!(
        "recorded: {} sockets, {} CPUs, {} ports, {} virtual functions, {} virtual machines, {files} files",
        tree::NODES,
        tree::CPUS,
        tree::PORTS,
        tree::VFS,
        tree::VMS
    );
    let kept = dir.path().join("kept.json");
    std::fs::write(&kept, kept_settings()?)?;
    let mut figures = Figures::default();
    figures.next_round();
    let peers = peers(&mut figures);
    let tuned = tuned::Tuned::start(dir.path(), &mut figures)?;
    // Once unmeasured: files and programs come from the disk.
    inspect(&["--sysroot", path(&host)?])?;
    for round in 0..rounds {
        if round > 0 {
            figures.next_round();
        }
        let (took, mib) = inspect(&["--sysroot", path(&host)?])?;
        figures.put("recorded host ms", took);
        figures.put("recorded host MB", mib);
        let plan = ["tune", "plan", "--json", "--sysroot", path(&host)?];
        figures.put("plan for the recorded host ms", run(NICETY, &plan)?.0);
        let ours = |figures: &mut Figures| -> Result<()> {
            let (took, mib) = inspect(&[])?;
            figures.put("this host ms", took);
            figures.put("this host MB", mib);
            Ok(())
        };
        if round % 2 == 0 {
            ours(&mut figures)?;
        }
        if ["ethtool", "ip", "lscpu"]
            .iter()
            .all(|peer| peers.contains_key(*peer))
        {
            figures.put("this host by ethtool, ip, tc, lscpu ms", others()?);
        }
        if round % 2 == 1 {
            ours(&mut figures)?;
        }
        let check = ["tune", "boot", "--check", "--kept", path(&kept)?, "--state"];
        let state = dir.path().join("state");
        let check = [&check[..], &[path(&state)?]].concat();
        figures.put("settings verified ms", run(NICETY, &check)?.0);
        if let Some(tuned) = &tuned {
            figures.put("tuned-adm verify ms", tuned.verify()?);
        }
    }
    figures.ratio(
        None,
        "this host ms",
        "this host by ethtool, ip, tc, lscpu ms",
    );
    figures.ratio(None, "settings verified ms", "tuned-adm verify ms");
    for (name, version) in &peers {
        println!("peer: {name} {}", version.as_str().unwrap_or_default());
    }
    figures.print();
    for (name, most) in AIMS {
        if let Some(median) = figures.median(name) {
            let word = if median < most { "met" } else { "missed" };
            println!("aim {word}: {name} {median:.1}, below {most}");
        }
    }
    println!("written: {}", figures.write("inspect", peers)?.display());
    Ok(())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str()
        .context("the temporary folder has no name in UTF-8")
}

fn inspect(more: &[&str]) -> Result<(f64, f64)> {
    let arguments = [&["inspect", "--json"], more].concat();
    run(NICETY, &arguments)
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
fn peers(figures: &mut Figures) -> Map<String, serde_json::Value> {
    let mut found = Map::new();
    for (name, word) in [
        ("ethtool", "--version"),
        ("ip", "-V"),
        ("lscpu", "--version"),
        ("tuned-adm", "--version"),
    ] {
        let output = Command::new(name)
            .arg(word)
            .env("PATH", search_path())
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let line = text.lines().next().unwrap_or("unknown").trim().to_owned();
                found.insert(name.to_owned(), json!(line));
            }
            Err(error) => figures.skip(name, error),
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
fn kept_settings() -> Result<String> {
    let settings: Vec<serde_json::Value> = settings()
        .map(|(name, value)| {
            let knob = json!({"kind": "sysctl", "name": name});
            let target = json!({"what": "setting", "knob": knob});
            json!({"target": target, "value": value})
        })
        .collect();
    Ok(serde_json::to_string(
        &json!({"schema": 1, "settings": settings}),
    )?)
}
