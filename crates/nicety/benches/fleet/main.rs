//! `nicety tune fleet` of a thousand captures: a recorded machine, grown to a KVM host, with differences
//! planted. Every planted difference must be found, and no other.
//!
//! `cargo bench -p nicety --bench fleet` prints a table and writes `bench/fleet.json` under the target
//! directory. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_HOSTS` make it shorter.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "../tester/figures.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod figures;
mod made;
#[path = "../inspect/program.rs"]
mod program;

use std::path::Path;

use anyhow::{Context, Result, bail};
use nicety_model::fleet::FleetReport;
use serde_json::{Map, json};

use figures::Figures;
use program::run;

const NICETY: &str = env!("CARGO_BIN_EXE_nicety");

/// Aims for a thousand hosts: name of the figure, and what it stays below.
const AIMS: [(&str, f64); 2] = [("fleet s", 60.0), ("fleet MB", 500.0)];

fn main() -> Result<()> {
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench fleet");
        return Ok(());
    }
    let rounds = number("NICETY_BENCH_ROUNDS", 3)?;
    let hosts = number("NICETY_BENCH_HOSTS", 1000)?;
    let dir = tempfile::tempdir()?;
    let captures = dir.path().join("captures");
    std::fs::create_dir(&captures)?;
    let (files, bytes) = made::write(&captures, hosts)?;
    let mb = bytes as f64 / 1e6;
    println!("captures: {hosts} of {files} files each, {mb:.0} MB together");
    let mut figures = Figures::default();
    let (page, report) = (dir.path().join("fleet.html"), dir.path().join("fleet.json"));
    let folder = path(&captures)?;
    // Once unmeasured: files come from the disk.
    found(folder, &report, hosts)?;
    for _ in 0..rounds {
        figures.next_round();
        let (ms, mb) = run(NICETY, &["-q", "tune", "fleet", folder])?;
        figures.put("fleet s", ms / 1e3);
        figures.put("fleet MB", mb);
        figures.put("fleet ms per host", ms / hosts as f64);
        let words = ["-q", "tune", "fleet", folder, "--html", path(&page)?];
        let (ms, mb) = run(NICETY, &words)?;
        figures.put("fleet with page s", ms / 1e3);
        figures.put("fleet with page MB", mb);
        figures.put("page MB", std::fs::metadata(&page)?.len() as f64 / 1e6);
    }
    figures.print();
    for (name, most) in AIMS {
        if let Some(median) = figures.median(name).filter(|_| hosts == 1000) {
            let word = if median < most { "met" } else { "missed" };
            println!("aim {word}: {name} {median:.1}, below {most}");
        }
    }
    let mut about = Map::new();
    about.insert("hosts".to_owned(), json!(hosts));
    about.insert("files_per_host".to_owned(), json!(files));
    about.insert("captures_mb".to_owned(), json!(mb));
    println!("written: {}", figures.write("fleet", about)?.display());
    Ok(())
}

/// The planted differences are there, and nothing else.
fn found(folder: &str, report: &Path, hosts: usize) -> Result<()> {
    let output = std::process::Command::new(NICETY)
        .args(["-q", "tune", "fleet", "--json", folder])
        .output()?;
    std::fs::write(report, &output.stdout)?;
    let fleet: FleetReport = serde_json::from_slice(&output.stdout).context("no report")?;
    if fleet.hosts.len() != hosts || !fleet.unread.is_empty() {
        bail!("{} of {hosts} hosts were read", fleet.hosts.len());
    }
    let mut found: Vec<(&str, usize)> = fleet
        .differences
        .iter()
        .map(|of| {
            let odd = of.others.iter().map(|value| value.hosts.len());
            (of.setting.as_str(), odd.sum())
        })
        .collect();
    let mut planted: Vec<(&str, usize)> = made::PLANTED
        .iter()
        .map(|(name, one_in)| (*name, hosts.div_ceil(*one_in)))
        .collect();
    found.sort_unstable();
    planted.sort_unstable();
    if found != planted {
        bail!("found {found:?}, planted {planted:?}");
    }
    println!(
        "found: all {} planted differences, and no other",
        found.len()
    );
    Ok(())
}

fn number(name: &str, usual: usize) -> Result<usize> {
    match std::env::var(name).map(|text| text.parse::<usize>()) {
        Err(_) => Ok(usual),
        Ok(Ok(number)) if number > 0 => Ok(number),
        Ok(_) => bail!("{name} must be a whole number above 0"),
    }
}

fn path(path: &Path) -> Result<&str> {
    path.to_str()
        .context("the temporary folder has no name in UTF-8")
}
