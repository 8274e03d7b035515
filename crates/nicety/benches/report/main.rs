//! What people wait for: the report of a large run, its page in a browser, two runs compared, a
//! trend of a long history.
//!
//! `cargo bench -p nicety --bench report` prints a table and writes `bench/report.json` under the
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
#[path = "../tester/figures.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod figures;
mod made;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use cdp::Browser;
use figures::Figures;
use made::Made;

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
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench report");
        return Ok(());
    }
    let rounds: usize = std::env::var("NICETY_BENCH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5);
    let dir = tempfile::tempdir()?;
    eprintln!("making two runs and a history of {RUNS}");
    let runs = [1, 2].map(|seed| (dir.path().join(format!("run{seed}")), seed));
    for (path, seed) in &runs {
        let (cells, trials) = Made::large(*seed)?.write(path)?;
        eprintln!("{}: {cells} cells, {trials} trials", path.display());
    }
    let store = dir.path().join("history.sqlite");
    made::history(&store, RUNS)?;
    let mut figures = Figures::default();
    for _ in 0..rounds {
        figures.next_round();
        round(&mut figures, dir.path(), &store)?;
    }
    figures.print();
    let file = figures.write("report", Map::new())?;
    let told: Value = serde_json::from_slice(&fs::read(&file)?)?;
    let mut missed = Vec::new();
    for (name, most) in TARGETS {
        if let Some(found) = told["figures"][name]["median"].as_f64()
            && found > most
        {
            missed.push(format!("{name}: {found:.3}, asked for {most}"));
        }
    }
    println!("{}", file.display());
    if !missed.is_empty() {
        bail!("slower or larger than asked for: {}", missed.join("; "));
    }
    Ok(())
}

fn round(figures: &mut Figures, dir: &Path, store: &Path) -> Result<()> {
    let (one, two, page) = (dir.join("run1"), dir.join("run2"), dir.join("page.html"));
    let spent = call([
        OsStr::new("report"),
        one.as_ref(),
        "--html".as_ref(),
        page.as_ref(),
    ])?;
    figures.put("report, s", spent.seconds);
    figures.put("report, MB of memory", spent.peak_mb);
    figures.put("page, MB", fs::metadata(&page)?.len() as f64 / 1e6);
    match cdp::installed() {
        Some(name) => {
            let profile = tempfile::tempdir()?;
            let mut browser = Browser::start(name, profile.path());
            // The browser's own start is not the page's.
            browser.value("1");
            let begin = Instant::now();
            browser.open(&page, 1280, "light");
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
    let spent = call([OsStr::new("compare"), one.as_ref(), two.as_ref()])?;
    figures.put("compare, s", spent.seconds);
    figures.put("compare, MB of memory", spent.peak_mb);
    let words = ["runs", "trend", made::CELL, "--store"].map(OsStr::new);
    let spent = call(words.into_iter().chain([store.as_ref()]))?;
    figures.put("trend, s", spent.seconds);
    Ok(())
}

/// What a call took.
struct Spent {
    seconds: f64,
    /// Most memory it had at once, as the kernel counts it (`VmHWM`), looked at until it ended.
    peak_mb: f64,
}

fn call<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Result<Spent> {
    let program = std::env::var_os("NICETY_BENCH_PROGRAM").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_nicety")),
        PathBuf::from,
    );
    let begin = Instant::now();
    let mut child = Command::new(&program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0.0_f64;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        let told = fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak_kib = peak_kib.max(kib.unwrap_or(0.0));
        std::thread::sleep(Duration::from_millis(1));
    };
    let seconds = begin.elapsed().as_secs_f64();
    // 1 is a comparison that found something worse: these runs are made of chance.
    if !matches!(ended.code(), Some(0 | 1)) {
        bail!("{} ended with {ended}", program.display());
    }
    Ok(Spent {
        seconds,
        peak_mb: peak_kib * 1024.0 / 1e6,
    })
}
