//! What people wait for: the report of a large run, its page in a browser, two runs compared, a
//! trend of a long history.
//!
//! `cargo bench -p nicety-benchmarks --bench report` prints a table and writes `bench/report.json` under the
//! target directory. Every figure is that of the program as it is called, start and end included.
//! `NICETY_BENCH_ROUNDS` says how often; `NICETY_BENCH_PROGRAM` names another build of nicety.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

// Written for tests, where a failure is a panic.
#[path = "../../../report/tests/browser/cdp.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "a browser that fails ends the benchmark"
)]
mod cdp;
mod made;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Map;

use cdp::Browser;
use made::Made;
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::nicety;
use nicety_benchmarks::program::{Spent, run};
use nicety_benchmarks::start::{is_asked_for, setting};

/// What is asked of a figure: at most this.
const TARGETS: [(&str, f64); 6] = [
    ("report, s", 2.0),
    ("report, MB of memory", 200.0),
    ("page, MB", 5.0),
    ("page until it answers, s", 1.0),
    ("compare, s", 1.0),
    ("trend, s", 0.1),
];
/// Runs of the history.
const RUNS: u64 = 1000;

fn main() -> Result<()> {
    if !is_asked_for("report") {
        return Ok(());
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 5)?;
    let dir = tempfile::tempdir()?;
    eprintln!("making two runs and a history of {RUNS}");
    for seed in [1, 2] {
        let path = dir.path().join(format!("run{seed}"));
        Made::large(seed)?.write(&path)?;
    }
    made::history(&dir.path().join("history.sqlite"), RUNS)?;
    let mut figures = Figures::default();
    for _ in 0..rounds {
        figures.next_round();
        round(&mut figures, dir.path())?;
    }
    figures.finish("report", &Map::new())?;
    if !figures.judge(TARGETS) {
        bail!("slower or larger than asked for");
    }
    Ok(())
}

fn round(figures: &mut Figures, dir: &Path) -> Result<()> {
    let path = |name: &str| Some(dir.join(name).to_str()?.to_owned());
    let paths = ["run1", "run2", "page.html", "history.sqlite"].map(path);
    let [Some(one), Some(two), Some(page), Some(store)] = &paths else {
        bail!("the temporary folder has no name in UTF-8");
    };
    let spent = call(&["report", one, "--html", page])?;
    figures.put("report, s", spent.ms / 1e3);
    figures.put("report, MB of memory", spent.mb);
    figures.put("page, MB", fs::metadata(page)?.len() as f64 / 1e6);
    match cdp::installed() {
        Some(name) => {
            let profile = tempfile::tempdir()?;
            let mut browser = Browser::start(name, profile.path());
            // The browser's own start is not the page's.
            browser.value("1");
            let begin = Instant::now();
            browser.open(Path::new(page), 1280, "light");
            let sorted = browser.value(
                "document.querySelector('thead button').click(); \
                 document.querySelector('th[aria-sort]') !== null",
            );
            figures.put("page until it answers, s", begin.elapsed().as_secs_f64());
            if sorted != true {
                bail!("the page's table does not sort");
            }
        }
        None => figures.skip("page until it answers, s", "no chromium here"),
    }
    let spent = call(&["compare", one, two])?;
    figures.put("compare, s", spent.ms / 1e3);
    figures.put("compare, MB of memory", spent.mb);
    let spent = call(&["runs", "trend", made::CELL, "--store", store])?;
    figures.put("trend, s", spent.ms / 1e3);
    Ok(())
}

fn call(words: &[&str]) -> Result<Spent> {
    let spent = run(nicety(), words).context("nicety")?;
    // 1 is a comparison that found something worse: these runs are made of chance.
    if spent.code > 1 {
        bail!("nicety {words:?} ends with {}", spent.code);
    }
    Ok(spent)
}
