//! The default run again and again, on the machine as it is and beside other programs: whether its numbers agree, and
//! whether what it says beside them is true.
//!
//! `cargo bench -p nicety-benchmarks --bench repeat` runs `nicety bench` without arguments beside each
//! [`Neighbour`] by turns, five rounds (`NICETY_BENCH_ROUNDS`; `NICETY_BENCH_BUSY=0` leaves the neighbours out), prints
//! a table, judges it and writes `bench/repeat.json` under the target directory. Nothing else should run meanwhile.

// A benchmark is an edge: it prints, reads its environment, starts programs and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod judge;
mod neighbour;

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, bail};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::nicety;
use nicety_benchmarks::start::{is_asked_for, setting};
use nicety_model::Run;
use serde_json::Map;

use judge::Runs;
use neighbour::Neighbour;

fn main() -> Result<()> {
    if !is_asked_for("repeat") {
        return Ok(());
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 5)?;
    let is_quiet_only = std::env::var_os("NICETY_BENCH_BUSY").is_some_and(|busy| busy == "0");
    let neighbours = &Neighbour::ALL[..if is_quiet_only {
        1
    } else {
        Neighbour::ALL.len()
    }];
    let mut figures = Figures::default();
    let mut runs = vec![Runs::default(); neighbours.len()];
    for round in 1..=rounds {
        figures.next_round();
        for (neighbour, runs) in neighbours.iter().zip(&mut runs) {
            eprintln!("round {round} of {rounds}: {}", neighbour.name());
            let present = neighbour.start()?;
            let (run, seconds) = once()?;
            drop(present);
            figures.put(format!("{}, s of a run", neighbour.name()), seconds);
            runs.add(&run, neighbour.name(), &mut figures);
        }
    }
    judge::judge(neighbours, &runs, &mut figures);
    figures.finish("repeat", &Map::new())
}

/// One default run in a directory of its own, and how long it took.
fn once() -> Result<(Run, f64)> {
    let dir = tempfile::tempdir()?;
    let begun = Instant::now();
    let output = Command::new(nicety())
        .args(["bench", "--json", "--out", "run"])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    // 1 says that a cell failed, which is judged here.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("nicety bench ended with {}", output.status);
    }
    let run = serde_json::from_slice(&output.stdout)?;
    Ok((run, begun.elapsed().as_secs_f64()))
}
