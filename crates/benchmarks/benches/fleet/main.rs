//! `nicety tune plan` of a thousand captures: a recorded machine, grown to a KVM host, with differences
//! planted. Every planted difference must be found, and no other.
//!
//! `cargo bench -p nicety-benchmarks --bench fleet` prints a table and writes `bench/fleet.json` under the target
//! directory. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_HOSTS` make it shorter.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod made;

use std::path::Path;

use anyhow::{Context, Result, bail};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::nicety;
use nicety_benchmarks::program::{command, run};
use nicety_benchmarks::start::{is_asked_for, setting};
use nicety_model::fleet::FleetReport;
use serde_json::Map;

/// Aims for a thousand hosts.
const AIMS: [(&str, f64); 2] = [("fleet s", 60.0), ("fleet MB", 500.0)];

fn main() -> Result<()> {
    if !is_asked_for("fleet") {
        return Ok(());
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 3)?;
    let hosts = setting("NICETY_BENCH_HOSTS", 1000_usize)?;
    let dir = tempfile::tempdir()?;
    let captures = dir.path().join("captures");
    std::fs::create_dir(&captures)?;
    let (files, bytes) = made::write(&captures, hosts)?;
    let mb = bytes as f64 / 1e6;
    println!("captures: {hosts} of {files} files each, {mb:.0} MB together");
    let page = dir.path().join("fleet.html");
    let folder = path(&captures)?;
    // Once unmeasured: files come from the disk.
    found(folder, hosts)?;
    let mut figures = Figures::default();
    for _ in 0..rounds {
        figures.next_round();
        let plain = run(nicety(), &["-q", "tune", "plan", folder])?;
        let words = ["-q", "tune", "plan", folder, "--html", path(&page)?];
        let paged = run(nicety(), &words)?;
        let page_bytes = std::fs::metadata(&page)?.len();
        figures.put_all(
            "fleet",
            [
                ("s", plain.ms / 1e3),
                ("MB", plain.mb),
                ("ms per host", plain.ms / hosts as f64),
                ("with page s", paged.ms / 1e3),
                ("with page MB", paged.mb),
                ("MB of page", page_bytes as f64 / 1e6),
            ],
        );
    }
    figures.finish("fleet", &Map::new())?;
    if hosts == 1000 {
        figures.judge(AIMS);
    }
    Ok(())
}

/// The planted differences are there, and nothing else.
fn found(folder: &str, hosts: usize) -> Result<()> {
    let words = ["-q", "tune", "plan", "--json", folder];
    let output = command(nicety()).args(words).output()?;
    let fleet: FleetReport = serde_json::from_slice(&output.stdout).context("no report")?;
    if fleet.hosts.len() != hosts || !fleet.unread.is_empty() {
        bail!("{} of {hosts} hosts were read", fleet.hosts.len());
    }
    let differences = fleet.differences.iter().map(|of| {
        let odd = of.others.iter().map(|value| value.hosts.len());
        (of.setting.as_str(), odd.sum())
    });
    let mut found: Vec<(&str, usize)> = differences.collect();
    let mut planted = made::PLANTED.map(|(name, one_in)| (name, hosts.div_ceil(one_in)));
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

fn path(path: &Path) -> Result<&str> {
    path.to_str()
        .context("the temporary folder has no name in UTF-8")
}
