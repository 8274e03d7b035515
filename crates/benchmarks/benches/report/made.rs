//! Runs made of chance, as large as the largest matrix that anybody publishes: cells and trials are those of a recorded
//! run, with other numbers.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;
use nicety_compare::figures;
use nicety_history::NewRun;
use nicety_model::plan::Plan;
use nicety_model::{CellKey, Run};
use nicety_store::RunFiles;
use serde_json::{Value, json};

/// The run that was recorded.
const RECORDED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/cases/runs/every-verdict"
);
/// 270 ways for a guest, seven sizes, two directions: 3,780 cells.
const LARGE: &str = r#"name = "matrix"
[traffic]
frame_sizes = [64, 128, 256, 512, 1024, 1280, 1518]
directions = ["uni", "bi"]
[search]
preset = "quick"
[[path]]
kind = "vm"
nic = ["e1000", "virtio-net", "vhost-net", "macvtap", "sriov"]
pf = "eth0"
switch = "bridge"
vcpus = 1
pin = [[0], [1], [2], [3], [4], [5]]
queues = [1, 4, 8]
ring = [256, 512, 1024]
"#;
/// Trials of the large run.
const TRIALS: usize = 60_000;
/// A night's run.
const SMALL: &str = r#"name = "nightly"
[traffic]
frame_sizes = [64, 128, 256, 512, 1024, 1280, 1518]
directions = ["uni", "bi"]
[search]
preset = "quick"
repeats = 3
[[path]]
kind = "bridge"
"#;
/// A cell of the night's run.
pub const CELL: &str = "bridge/64/uni";

/// A run that was never measured.
pub struct Made {
    plan: &'static str,
    keys: Vec<CellKey>,
    repeats: u32,
    trials: usize,
    seed: u64,
    kernel: &'static str,
    level: f64,
}

impl Made {
    /// 3,780 cells and 60,000 trials.
    pub fn large(seed: u64) -> Result<Self> {
        let keys: Vec<CellKey> = Plan::parse("plan.toml", LARGE)?.cells().collect();
        anyhow::ensure!(keys.len() == 3780, "{} cells", keys.len());
        Ok(Self {
            plan: LARGE,
            keys,
            repeats: 1,
            trials: TRIALS,
            seed,
            kernel: "6.12.1",
            level: 1.0,
        })
    }

    fn small(seed: u64, kernel: &'static str, level: f64) -> Result<Self> {
        Ok(Self {
            plan: SMALL,
            keys: Plan::parse("plan.toml", SMALL)?.cells().collect(),
            repeats: 3,
            trials: 600,
            seed,
            kernel,
            level,
        })
    }

    /// Writes the directory.
    pub fn write(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir)?;
        for (name, bytes) in self.files()? {
            fs::write(dir.join(name), bytes)?;
        }
        Ok(())
    }

    fn meta(&self) -> Value {
        let (day, second) = (1 + self.seed / 86_400 % 28, self.seed % 86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        json!({
            "schema": 1, "name": "made", "seed": self.seed, "preset": "quick",
            "started": format!("2026-03-{day:02}T{hour:02}:{minute:02}:{second:02}Z"),
            "loss_goal": 0.0001, "command": "nicety bench plan.toml", "elapsed_s": 61.0,
            "complete": true, "notes": [],
        })
    }

    fn host(&self) -> Result<Value> {
        let mut host = recorded("host.json")?;
        host["kernel"] = json!(self.kernel);
        Ok(host)
    }

    fn files(&self) -> Result<RunFiles> {
        let mut rng = Rng::with_seed(self.seed);
        let (cell, trial) = (recorded("cells.jsonl")?, recorded("trials.jsonl")?);
        let (mut cells, mut trials) = (Vec::new(), Vec::new());
        let results = self.keys.len() * self.repeats as usize;
        let mut left = self.trials;
        let mut number = 0;
        for key in &self.keys {
            for repeat in 1..=self.repeats {
                let cell = drawn_cell(&cell, (key, repeat), self.level, &mut rng);
                // Spread evenly, the rest over the first ones.
                let own = left.div_ceil(results - number);
                (left, number) = (left - own, number + 1);
                for index in 1..=own {
                    line(&mut trials, &drawn_trial(&trial, &cell, index, &mut rng))?;
                }
                line(&mut cells, &cell)?;
            }
        }
        let bytes = |value: &Value| value.to_string().into_bytes();
        Ok(RunFiles::from([
            ("plan.toml".to_owned(), self.plan.as_bytes().to_vec()),
            ("run.json".to_owned(), bytes(&self.meta())),
            ("host.json".to_owned(), bytes(&self.host()?)),
            ("tester.json".to_owned(), bytes(&recorded("tester.json")?)),
            ("cells.jsonl".to_owned(), cells),
            ("trials.jsonl".to_owned(), trials),
        ]))
    }
}

/// The first value in a file of the recorded run.
fn recorded(name: &str) -> Result<Value> {
    let text = fs::read_to_string(Path::new(RECORDED).join(name)).context(RECORDED)?;
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    Ok(values.next().context("an empty file")??)
}

/// Keeps runs whose level drops with a new kernel in the middle.
pub fn history(store: &Path, runs: u64) -> Result<()> {
    let mut store = nicety_history::open(store, true)?;
    for night in 0..runs {
        let (kernel, level) = if night < runs / 2 {
            ("6.12.1", 1.0)
        } else {
            ("6.18.5", 0.9)
        };
        let made = Made::small(night, kernel, level)?;
        let files = made.files()?;
        let text = files.get("cells.jsonl").context("no cells")?;
        let cells: Vec<Value> = serde_json::Deserializer::from_slice(text)
            .into_iter()
            .collect::<Result<_, _>>()?;
        let mut head = made.meta();
        head["host"] = made.host()?;
        let run: Run = serde_json::from_value(json!({
            "schema": 1, "run": head, "tester_limit_fps": {}, "visits": cells, "cells": [],
        }))?;
        let new = NewRun {
            run: &run,
            files: &files,
            figures: &figures(&run),
        };
        store.add(&new, &[])?;
    }
    Ok(())
}

fn line(into: &mut Vec<u8>, value: &Value) -> Result<()> {
    // As nicety writes lines: the schema first, which a map of this kind would sort away.
    let text = serde_json::to_string(value)?;
    let rest = text.replacen("\"schema\":1,", "", 1);
    into.extend_from_slice(format!("{{\"schema\":1,{}\n", &rest[1..]).as_bytes());
    Ok(())
}

/// Within a tenth of `about`.
fn near(about: f64, rng: &mut Rng) -> f64 {
    about * (0.9 + 0.2 * rng.f64())
}

/// Other times, each within a tenth of what it was.
fn drawn_times(times: &mut Value, rng: &mut Rng) {
    for name in ["min", "mean", "p50", "p90", "p99", "p999", "max"] {
        let about = times[name].as_f64().unwrap_or(10.0);
        times[name] = json!((near(about, rng) * 1000.0).round() / 1000.0);
    }
}

fn drawn_cell(
    recorded: &Value,
    (key, repeat): (&CellKey, u32),
    level: f64,
    rng: &mut Rng,
) -> Value {
    let mut cell = recorded.clone();
    let size = u16::from(key.frame_size_bytes);
    let fps = near(240_000.0 * level, rng);
    for (name, value) in [
        ("cell", json!(key.name())),
        ("repeat", json!(repeat)),
        ("path", json!(key.path)),
        ("frame_size_bytes", json!(size)),
        ("direction", json!(key.direction)),
        ("throughput_fps", json!(fps)),
        ("lower_fps", json!(fps)),
        ("upper_fps", json!(near(1.02 * fps, rng))),
        (
            "throughput_l1_mbps",
            json!(fps * f64::from(size + 20) * 8e-6),
        ),
        ("throughput_l2_mbps", json!(fps * f64::from(size) * 8e-6)),
        ("search_s", json!(near(19.0, rng))),
    ] {
        cell[name] = value;
    }
    cell["confirm"]["load_fps"] = json!(fps);
    drawn_times(&mut cell["latency_us"], rng);
    for share in cell["latency_by_load_us"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        drawn_times(share, rng);
    }
    cell
}

fn drawn_trial(recorded: &Value, cell: &Value, index: usize, rng: &mut Rng) -> Value {
    let mut trial = recorded.clone();
    let load = near(cell["throughput_fps"].as_f64().unwrap_or(1e5), rng);
    let loss = if rng.bool() { 0.0 } else { near(0.01, rng) };
    let (sent, lost) = (load as u64, (load * loss) as u64);
    let mut frames = trial["frames"].clone();
    for (name, count) in [
        ("intended", sent),
        ("sent", sent),
        ("received", sent - lost),
        ("lost", lost),
    ] {
        frames[name] = json!(count);
    }
    let bursts = json!({"bursts": rng.u32(0..50_000), "longest": rng.u32(0..900),
        "by_power_of_two": (0..10).map(|_| rng.u32(0..9000)).collect::<Vec<_>>()});
    let ordered = json!({"bursts": 0, "longest": 0, "by_power_of_two": []});
    let stream = json!({"stream": 0, "frames": frames, "loss_bursts": bursts,
        "reorder_bursts": ordered, "reorder_extent_max": 0});
    for (name, value) in [
        ("cell", cell["cell"].clone()),
        ("repeat", cell["repeat"].clone()),
        ("index", json!(index)),
        ("load_fps", json!(load)),
        ("started_unix_s", json!(1_795_296_810.0 + index as f64)),
        ("frames", frames),
        ("loss_ratio", json!(loss)),
        ("forwarding_fps", json!(load * (1.0 - loss))),
        ("streams", json!([stream])),
        ("latency_us", cell["latency_us"].clone()),
        ("cpu", cell["cpu"].clone()),
    ] {
        trial[name] = value;
    }
    trial["pacing"]["offered_fps"] = json!(load);
    trial
}
