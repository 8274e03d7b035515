//! The default run again and again: whether its numbers agree, and whether its intervals hold.
//!
//! `cargo bench -p nicety-benchmarks --bench repeat` runs `nicety bench` without arguments five times
//! (`NICETY_BENCH_ROUNDS`) on the machine as it is, then once more with a spinning program of lowest
//! priority on each CPU (`NICETY_BENCH_BUSY=0` leaves that out), prints a table, judges it and
//! writes `bench/repeat.json` under the target directory. Nothing else should run meanwhile.

// A benchmark is an edge: it prints, reads its environment, starts programs and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod judge;

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::nicety;
use nicety_benchmarks::program::{Held, command};
use nicety_benchmarks::start::{is_asked_for, setting};
use nicety_model::{Run, Verdict};
use serde_json::Map;

fn main() -> Result<()> {
    if !is_asked_for("repeat") {
        return Ok(());
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 5)?;
    let is_left_out = std::env::var_os("NICETY_BENCH_BUSY").is_some_and(|busy| busy == "0");
    let mut figures = Figures::default();
    let mut quiet = Vec::new();
    for round in 1..=rounds {
        eprintln!("run {round} of {rounds}");
        figures.next_round();
        let (run, seconds) = once()?;
        let cells = judge::cells(&run);
        figures.put("s of a run", seconds);
        judge::put(&cells, &mut figures);
        quiet.push(cells);
    }
    let mut busy = None;
    if !is_left_out {
        eprintln!("run with a spinning program of lowest priority on each CPU");
        let _spinners = spinners()?;
        let (run, _) = once()?;
        let failed = run
            .cells
            .iter()
            .filter(|cell| cell.verdict == Verdict::Failed);
        figures.put("busy: failed", failed.count() as f64);
        busy = Some(judge::cells(&run));
    }
    judge::judge(&quiet, busy.as_ref(), &mut figures);
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

/// A program of lowest priority on each CPU; they end with the value.
fn spinners() -> Result<Vec<Held>> {
    let cpus = std::thread::available_parallelism()?.get();
    let spinner = |cpu: usize| {
        let words = format!("-c {cpu} nice -n 19 sh -c");
        let mut spinner = command("taskset");
        let spinner = spinner.args(words.split(' ')).arg("while :; do :; done");
        let child = spinner.spawn();
        let child = child.context("cannot start taskset (Debian: util-linux)")?;
        Ok(Held::killed(child))
    };
    (0..cpus).map(spinner).collect()
}
