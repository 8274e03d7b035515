//! All presets against the simulated reference paths: trials, seconds, result, error, spread.
//!
//! `cargo bench -p nicety-search --bench search` prints a table and writes
//! `bench/search.json` under the target directory. With `NICETY_MLRSEARCH_PYTHON` naming a
//! Python that can import MLRsearch, that library runs on the same paths as a peer.

// A benchmark is an edge: it prints, reads its environment, writes a file and starts the peer.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs
)]

use std::path::{Path as FilePath, PathBuf};
use std::process::Command;
use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{Fps, LossRatio, Purpose};
use nicety_search::{Cell, CellPlan, Outcome, Search, Seen, Settings, default_loss_ratio};
use nicety_testkit::sut::{Path, REFERENCE_MAX, Sut, busy_paths, reference_paths};
use serde_json::{Map, Value, json};

#[path = "parts/estimators.rs"]
mod estimators;
#[path = "parts/goals.rs"]
mod goals;

const SEEDS: u64 = 40;
const MIN: Fps = Fps(9_001.0);
const LOSS: f64 = 0.0001;

/// What MLRsearch 1.2.1 (for `binary`: a 10 s bisection) took on the four paths.
struct Reference {
    preset: Preset,
    name: &'static str,
    /// Wall seconds, half a second of overhead in each trial.
    wall_s: [f64; 4],
    /// Trials, where they are known.
    trials: Option<[f64; 4]>,
}

const REFERENCE: [Reference; 4] = [
    Reference {
        preset: Preset::Std,
        name: "std",
        wall_s: [24.0, 24.0, 26.0, 63.0],
        trials: Some([16.0, 16.0, 17.3, 42.0]),
    },
    Reference {
        preset: Preset::Csit,
        name: "csit",
        wall_s: [41.0, 41.0, 45.0, 129.0],
        trials: Some([27.0, 27.0, 30.0, 86.0]),
    },
    Reference {
        preset: Preset::Rfc2544,
        name: "rfc2544",
        wall_s: [142.0, 349.0, 838.0, 784.0],
        trials: None,
    },
    Reference {
        preset: Preset::Binary,
        name: "binary",
        wall_s: [136.5, 136.5, 136.5, 145.95],
        trials: Some([13.0, 13.0, 13.0, 13.9]),
    },
];

/// One search.
struct Sample {
    trials: f64,
    traffic: f64,
    wall: f64,
    result: f64,
}

/// Samples of one preset on one path.
#[derive(Default)]
struct Series(Vec<Sample>);

impl Series {
    fn of(&self, field: fn(&Sample) -> f64) -> Vec<f64> {
        self.0.iter().map(field).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn relative_sd(values: &[f64]) -> f64 {
    let mean = mean(values);
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (square / (values.len().max(2) - 1) as f64).sqrt() / mean
}

fn run(mut search: Box<dyn Search>, path: Path, seed: u64) -> (Outcome, f64) {
    let mut sut = Sut::new(path, seed);
    let mut traffic = 0.0;
    while let Some(request) = search.next_trial() {
        let seconds = request.duration.as_secs_f64();
        let shot = sut.trial(request.load, seconds);
        traffic += seconds;
        search.observe(&Seen {
            load: request.load,
            carried: request.load,
            duration: request.duration,
            wall: Duration::from_secs_f64(sut.wall_s(seconds)),
            loss_ratio: LossRatio(shot.loss_ratio.0),
            single: None,
            clean: 1.0,
            windows: None,
            forwarding: shot.forwarding,
        });
    }
    (search.outcome(), traffic)
}

fn series(make: impl Fn() -> Box<dyn Search>, path: Path) -> Series {
    let samples = (0..SEEDS).map(|seed| {
        let (outcome, traffic) = run(make(), path, seed);
        assert!(outcome.failed.is_none(), "{outcome:?}");
        Sample {
            trials: f64::from(outcome.trials),
            traffic,
            wall: outcome.wall_s,
            result: outcome.throughput.map_or(0.0, |fps| fps.0),
        }
    });
    Series(samples.collect())
}

/// Trials and wall seconds of a whole cell, and whether its confirm trial missed the goal.
fn cell(preset: Preset, path: Path, seed: u64) -> (f64, f64, bool) {
    let settings = Settings::of(preset, LOSS);
    let mut plan = CellPlan::new(settings, REFERENCE_MAX);
    let mut sut = Sut::new(path, seed);
    let mut wall = 0.0;
    for _ in 1..settings.visits(1) {
        let mut visit = Cell::new(plan.clone().brief()).unwrap();
        wall += visit_all(&mut visit, &mut sut).0;
        let lower = visit.bounds().lower_fps.map(Fps);
        plan.earlier.extend(lower);
        plan.expect = lower;
        sut.wait(25.0);
    }
    let (last, missed) = visit_all(&mut Cell::new(plan).unwrap(), &mut sut);
    (sut.trials() as f64, wall + last, missed)
}

/// Wall seconds of a visit, and whether its confirm trial missed the goal.
fn visit_all(cell: &mut Cell, sut: &mut Sut) -> (f64, bool) {
    let (mut wall, mut missed) = (0.0, None);
    while let Some(step) = cell.next() {
        let seconds = step.duration.as_secs_f64();
        let record = match step.window {
            Some(window) => sut.record_by_windows((step.purpose, step.load), seconds, window),
            None => sut.record(step.purpose, step.load, seconds),
        };
        wall += record.wall_s;
        if step.purpose == Purpose::Confirm {
            // Those that follow one that failed are not the search's.
            missed.get_or_insert(match &record.windows {
                Some(windows) => {
                    let (good, bad) = windows.judged(LOSS);
                    good <= bad
                }
                None => record.loss_ratio.0 > LOSS,
            });
        }
        cell.observe(&record);
    }
    (wall, missed.unwrap_or(false))
}

/// The estimators of `robust`, beside each other.
fn compare_estimators(figures: &mut Map<String, Value>) {
    println!("\nfive visits apart in time, judged by windows; {SEEDS} runs");
    println!(
        "{:<10} {:<8} {:>9} {:>8} {:>10} {:>10} {:>9} {:>10} {:>8}",
        "estimator",
        "path",
        "Mpps",
        "error",
        "sd, visit",
        "sd, run",
        "covered",
        "traffic s",
        "wall s"
    );
    for one in estimators::all() {
        println!(
            "{:<10} {:<8} {:>9.4} {:>+6.2} % {:>8.2} % {:>8.2} % {:>7.0} % {:>10.1} {:>8.1}",
            one.name,
            one.path,
            one.median / 1e6,
            (one.median / 1e6 - 1.0) * 100.0,
            one.visit_sd * 100.0,
            one.run_sd * 100.0,
            one.covered * 100.0,
            one.traffic_s,
            one.wall_s
        );
        let key = format!("{}/{}", one.name, one.path);
        for (what, value) in [
            ("throughput_fps", one.median),
            ("visit_relative_sd", one.visit_sd),
            ("run_relative_sd", one.run_sd),
            ("covered", one.covered),
            ("wall_s", one.wall_s),
        ] {
            figures.insert(format!("{key} {what}"), json!(value));
        }
    }
}

fn spread(values: &mut [f64]) -> Value {
    values.sort_by(f64::total_cmp);
    let median = match values.len() {
        0 => return Value::Null,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    };
    json!({"median": median, "min": values[0], "max": values[values.len() - 1]})
}

/// The peer's samples by `preset/path`, or why there are none.
fn peer() -> Result<(String, Map<String, Value>), String> {
    let python = std::env::var("NICETY_MLRSEARCH_PYTHON")
        .map_err(|_| "NICETY_MLRSEARCH_PYTHON is not set".to_owned())?;
    let script = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("benches/mlrsearch_peer.py");
    let output = Command::new(&python)
        .arg(script)
        .arg(SEEDS.to_string())
        .output()
        .map_err(|error| format!("{python} does not start: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().last().unwrap_or("no message").to_owned();
        return Err(format!("{python} failed: {last}"));
    }
    let mut answer: Map<String, Value> =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{python}: {error}"))?;
    let version = answer
        .remove("version")
        .and_then(|v| v.as_str().map(str::to_owned));
    Ok((version.unwrap_or_default(), answer))
}

fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    )
}

fn row(name: &str, path: &str, series: &Series) {
    let results = series.of(|s| s.result);
    // Only the clean path has a known throughput: its capacity.
    let error = if path == "clean" {
        format!("{:+.2} %", (mean(&results) / 1e6 - 1.0) * 100.0)
    } else {
        "-".to_owned()
    };
    println!(
        "{name:<10} {path:<8} {:>7.1} {:>10.1} {:>8.1} {:>9.4} {error:>9} {:>8.2} %",
        mean(&series.of(|s| s.trials)),
        mean(&series.of(|s| s.traffic)),
        mean(&series.of(|s| s.wall)),
        mean(&results) / 1e6,
        relative_sd(&results) * 100.0,
    );
}

fn main() {
    // `cargo bench` and `cargo test --benches` pass flags of the default harness; none apply.
    let mut ratios = Map::new();
    let mut figures = Map::new();
    let mut peers = Map::new();
    peers.insert("MLRsearch (recorded)".to_owned(), json!("1.2.1"));
    let peer = peer();
    match &peer {
        Ok((version, _)) => {
            peers.insert("MLRsearch".to_owned(), json!(version));
        }
        Err(reason) => println!("skipped: peer MLRsearch: {reason}\n"),
    }
    println!(
        "{SEEDS} seeds, goal {} % (rfc2544: no loss), half a second of overhead per trial",
        LOSS * 100.0
    );
    println!(
        "{:<10} {:<8} {:>7} {:>10} {:>8} {:>9} {:>9} {:>10}",
        "preset", "path", "trials", "traffic s", "wall s", "Mpps", "error", "rel. sd"
    );
    for Reference {
        preset,
        name,
        wall_s,
        trials: known_trials,
    } in REFERENCE
    {
        for (index, (path_name, path)) in reference_paths().into_iter().enumerate() {
            let settings = Settings::of(preset, default_loss_ratio(preset));
            let samples = series(|| settings.search(MIN, REFERENCE_MAX).unwrap(), path);
            row(name, path_name, &samples);
            let key = format!("{name}/{path_name}");
            let mut walls = samples.of(|s| s.wall);
            let mut trials = samples.of(|s| s.trials);
            let results = samples.of(|s| s.result);
            figures.insert(format!("{key} trials"), json!(mean(&trials)));
            figures.insert(format!("{key} wall_s"), json!(mean(&walls)));
            figures.insert(format!("{key} throughput_fps"), json!(mean(&results)));
            figures.insert(format!("{key} relative_sd"), json!(relative_sd(&results)));
            if let Ok((_, answers)) = &peer
                && let Some(theirs) = answers.get(&key)
            {
                let (their_trials, their_wall) = (
                    theirs["trials"].as_f64().unwrap(),
                    theirs["wall_s"].as_f64().unwrap(),
                );
                println!(
                    "{:<10} {path_name:<8} {their_trials:>7.1} {:>10} {their_wall:>8.1} {:>9.4} {:>9} {:>8.2} %",
                    "  peer",
                    "",
                    theirs["throughput_fps"].as_f64().unwrap() / 1e6,
                    "",
                    theirs["relative_sd"].as_f64().unwrap() * 100.0,
                );
                let mut to_peer: Vec<f64> = walls.iter().map(|w| w / their_wall).collect();
                ratios.insert(format!("{key} wall to MLRsearch"), spread(&mut to_peer));
                let mut to_peer: Vec<f64> = trials.iter().map(|t| t / their_trials).collect();
                ratios.insert(format!("{key} trials to MLRsearch"), spread(&mut to_peer));
            }
            walls.iter_mut().for_each(|wall| *wall /= wall_s[index]);
            ratios.insert(format!("{key} wall to recorded"), spread(&mut walls));
            if let Some(known) = known_trials {
                trials.iter_mut().for_each(|count| *count /= known[index]);
                ratios.insert(format!("{key} trials to recorded"), spread(&mut trials));
            }
        }
    }
    goals::compare(
        peer.as_ref().ok().map(|(_, all)| all),
        &mut figures,
        &mut ratios,
    );
    compare_estimators(&mut figures);
    println!("\nwhole cells: warm-up, search, confirm trial, three latency trials");
    println!(
        "{:<10} {:<8} {:>7} {:>8} {:>15}",
        "preset", "path", "trials", "wall s", "confirm missed"
    );
    for (preset, name) in [
        (Preset::Robust, "robust"),
        (Preset::Std, "std"),
        (Preset::Csit, "csit"),
    ] {
        let paths = reference_paths().into_iter().chain(busy_paths());
        for (path_name, path) in paths {
            let cells: Vec<(f64, f64, bool)> =
                (0..SEEDS).map(|seed| cell(preset, path, seed)).collect();
            let trials = mean(&cells.iter().map(|cell| cell.0).collect::<Vec<_>>());
            let wall = mean(&cells.iter().map(|cell| cell.1).collect::<Vec<_>>());
            let missed = cells.iter().filter(|cell| cell.2).count();
            println!("{name:<10} {path_name:<8} {trials:>7.1} {wall:>8.1} {missed:>9} of {SEEDS}");
            figures.insert(format!("cell {name}/{path_name} wall_s"), json!(wall));
            figures.insert(
                format!("cell {name}/{path_name} confirm_missed"),
                json!(missed),
            );
        }
    }
    let dir = target_dir().join("bench");
    std::fs::create_dir_all(&dir).expect("target directory is writable");
    let file = dir.join("search.json");
    let all = json!({"ratios": ratios, "figures": figures, "peers": peers});
    std::fs::write(&file, format!("{all:#}\n")).expect("target directory is writable");
    println!("\nwritten: {}", file.display());
}
