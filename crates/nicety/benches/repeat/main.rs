//! The default run again and again: whether its numbers agree, and whether its intervals hold.
//!
//! `cargo bench -p nicety --bench repeat` runs `nicety bench` without arguments five times
//! (`NICETY_BENCH_ROUNDS`) on the machine as it is, then once more with a spinning program of lowest
//! priority on each CPU (`NICETY_BENCH_BUSY=0` leaves that out), prints a table, judges it and
//! writes `bench/repeat.json` under the target directory. Nothing else should run meanwhile.

// A benchmark is an edge: it prints, reads its environment, starts programs and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod judge;
mod spin;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nicety_model::Run;
use serde_json::json;

use judge::{Judged, Outcome};
use spin::Spinners;

fn main() -> Result<()> {
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench repeat");
        return Ok(());
    }
    let rounds = number("NICETY_BENCH_ROUNDS", 5)?;
    let busy = number("NICETY_BENCH_BUSY", 1)? > 0;
    let mut quiet = Vec::new();
    for round in 1..=rounds {
        eprintln!("run {round} of {rounds}");
        quiet.push(once()?);
    }
    let crowded = match busy {
        true => {
            eprintln!("run with a spinning program of lowest priority on each CPU");
            let spinners = Spinners::start()?;
            let outcome = once();
            drop(spinners);
            Some(outcome?)
        }
        false => None,
    };
    let judged = judge::judge(&quiet, crowded.as_ref());
    print(&quiet, crowded.as_ref(), &judged);
    let dir = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let file = dir.join("bench/repeat.json");
    std::fs::create_dir_all(dir.join("bench"))?;
    let figures = json!({
        "ratios": judged.ratios,
        "figures": judged.figures,
        "peers": {"nicety": env!("CARGO_PKG_VERSION")},
    });
    std::fs::write(&file, format!("{figures:#}\n"))?;
    println!("written: {}", file.display());
    Ok(())
}

fn number(name: &str, default: u32) -> Result<u32> {
    match std::env::var(name) {
        Err(_) => Ok(default),
        Ok(text) => text
            .parse()
            .with_context(|| format!("{name} is {text:?}, must be a whole number")),
    }
}

/// One default run in a directory of its own.
fn once() -> Result<Outcome> {
    let dir = tempfile::tempdir()?;
    let begun = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_nicety"))
        .args(["bench", "--json", "--out", "run"])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    // 1 says that a cell failed, which is judged here.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("nicety bench ended with {}", output.status);
    }
    let run: Run = serde_json::from_slice(&output.stdout)?;
    Ok(Outcome::of(&run, begun.elapsed().as_secs_f64()))
}

fn print(quiet: &[Outcome], crowded: Option<&Outcome>, judged: &Judged) {
    println!("{:<6} {:>8} {:>4}  results", "run", "seconds", "ok");
    for (n, outcome) in quiet.iter().chain(crowded).enumerate() {
        let name = if n < quiet.len() {
            format!("{}", n + 1)
        } else {
            "busy".to_owned()
        };
        let results: Vec<String> = outcome
            .cells
            .iter()
            .map(|(size, cell)| {
                let k = |fps: f64| fps / 1e3;
                format!(
                    "{size}: {:.0} ({:.0}–{:.0}) {}",
                    k(cell.fps),
                    k(cell.low_fps),
                    k(cell.high_fps),
                    cell.verdict
                )
            })
            .collect();
        println!(
            "{name:<6} {:>8.0} {:>4}  {}",
            outcome.seconds,
            outcome.ok(),
            results.join(", ")
        );
    }
    for (name, value) in &judged.figures {
        println!("{name}: {value}");
    }
}
