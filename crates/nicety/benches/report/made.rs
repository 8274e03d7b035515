//! Runs made of chance, as large as the largest matrix that anybody publishes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;
use nicety_compare::figures;
use nicety_history::{History, NewRun, Sqlite};
use nicety_model::plan::Plan;
use nicety_model::{CellKey, Run};
use nicety_store::{RunFiles, write_files};
use serde_json::{Value, json};

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
        let plan = Plan::parse("plan.toml", LARGE)?;
        let keys: Vec<CellKey> = plan.cells().collect();
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

    /// Writes the directory; tells how many cells and trials it has.
    pub fn write(&self, dir: &Path) -> Result<(usize, usize)> {
        write_files(dir, &self.files()?)?;
        let lines =
            |name| -> Result<usize> { Ok(fs::read_to_string(dir.join(name))?.lines().count()) };
        Ok((lines("cells.jsonl")?, lines("trials.jsonl")?))
    }

    fn started(&self) -> String {
        let (day, second) = (1 + self.seed / 86_400 % 28, self.seed % 86_400);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        format!("2026-03-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
    }

    fn meta(&self) -> Value {
        json!({
            "schema": 1, "name": "made", "started": self.started(), "seed": self.seed,
            "preset": "quick", "loss_goal": 0.0001, "command": "nicety bench plan.toml",
            "elapsed_s": 61.0, "complete": true, "notes": [],
        })
    }

    fn host(&self) -> Value {
        json!({
            "nicety": "0.1.0", "privileged": true, "kernel": self.kernel, "cmdline": "quiet",
            "os": "Debian", "cpu_model": "EPYC", "cpus": 2, "cpus_allowed": [0, 1], "sockets": 1,
            "numa": {}, "smt": "on", "governor": {}, "mitigations": {}, "isolated": [],
            "hypervisor": null, "clocksource": "tsc", "microcode": "0x1", "memory_mib": 8000,
            "hugepages": {}, "sysctl": {}, "interfaces": {}, "bios": null,
        })
    }

    fn files(&self) -> Result<RunFiles> {
        let mut rng = Rng::with_seed(self.seed);
        let mut cells = Vec::new();
        let mut trials = Vec::new();
        let results = self.keys.len() * self.repeats as usize;
        let mut left = self.trials;
        let mut number = 0;
        for key in &self.keys {
            for repeat in 1..=self.repeats {
                let cell = cell(key, repeat, self.level, &mut rng);
                // Spread evenly, the rest over the first ones.
                let own = left.div_ceil(results - number);
                (left, number) = (left - own, number + 1);
                for index in 1..=own {
                    line(&mut trials, &trial(&cell, index, &mut rng))?;
                }
                line(&mut cells, &cell)?;
            }
        }
        let tester = json!({"schema": 1, "engine": "xdp", "limit_fps": {"64": 2_200_000.0}});
        Ok(RunFiles::from([
            ("plan.toml".to_owned(), self.plan.as_bytes().to_vec()),
            ("run.json".to_owned(), serde_json::to_vec(&self.meta())?),
            ("host.json".to_owned(), serde_json::to_vec(&self.host())?),
            ("tester.json".to_owned(), serde_json::to_vec(&tester)?),
            ("cells.jsonl".to_owned(), cells),
            ("trials.jsonl".to_owned(), trials),
        ]))
    }
}

/// Keeps runs whose level drops with a new kernel in the middle.
pub fn history(store: &Path, runs: u64) -> Result<()> {
    let mut store = Sqlite::open_or_create(store)?;
    for night in 0..runs {
        let (kernel, level) = match night < runs / 2 {
            true => ("6.12.1", 1.0),
            false => ("6.18.5", 0.9),
        };
        let made = Made::small(night, kernel, level)?;
        let files = made.files()?;
        let text = files.get("cells.jsonl").context("no cells")?;
        let cells: Vec<Value> = serde_json::Deserializer::from_slice(text)
            .into_iter()
            .collect::<Result<_, _>>()?;
        let mut head = made.meta();
        head["host"] = made.host();
        let run: Run = serde_json::from_value(json!({
            "schema": 1, "run": head, "tester_limit_fps": {}, "cells": cells, "summary": [],
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

fn latency(share: f64, rng: &mut Rng) -> Value {
    let mut value = |about: f64| (near(about, rng) * 1000.0).round() / 1000.0;
    json!({
        "load_ratio": share, "min": value(1.9), "mean": value(16.2), "p50": value(10.0),
        "p90": value(25.5), "p99": value(119.6), "p999": value(932.3), "max": value(1595.6),
        "samples": (value(213_307.0)) as u64,
    })
}

fn cpu(rng: &mut Rng) -> Value {
    let mut core = |cpu: u32| {
        json!({
            "cpu": cpu, "user": 0.0, "system": near(0.5, rng), "irq": 0.0,
            "softirq": near(0.16, rng), "steal": near(0.002, rng), "idle": near(0.3, rng),
        })
    };
    let cores = [core(0), core(1)];
    json!({
        "busy_ratio": [near(0.66, rng), near(0.95, rng)], "cores": cores,
        "busiest": {"cpu": 0, "busy_ratio": near(0.66, rng), "who": "napi/d0"},
        "who": {"irq": 0.0, "napi/d0": near(0.49, rng), "other": near(0.007, rng),
                "softirq": near(0.16, rng), "steal": near(0.008, rng), "tester": near(0.94, rng)},
        "us_per_frame": near(2.8, rng),
    })
}

fn frames(intended: f64, lost: f64) -> Value {
    let (sent, lost) = (intended as u64, lost as u64);
    json!({
        "intended": sent, "sent": sent, "received": sent - lost, "lost": lost, "duplicate": 0,
        "reordered": 0, "corrupt": 0, "foreign": 0,
    })
}

fn cell(key: &CellKey, repeat: u32, level: f64, rng: &mut Rng) -> Value {
    let size = f64::from(u16::from(key.frame_size_bytes));
    let fps = near(240_000.0 * level, rng);
    let lost = near(3000.0, rng).round();
    json!({
        "schema": 1, "cell": key.name(), "repeat": repeat, "path": key.path,
        "frame_size_bytes": size as u16, "direction": key.direction, "flows": 1,
        "engine": "xdp (live frames; receive program native)", "loss_goal": 0.0001,
        "throughput_fps": fps, "lower_fps": fps, "upper_fps": near(1.02 * fps, rng),
        "throughput_l1_mbps": fps * (size + 20.0) * 8.0 / 1e6,
        "throughput_l2_mbps": fps * size * 8.0 / 1e6, "tester_limit_fps": near(2.2e6, rng),
        "confirm": {"load_fps": fps, "duration_s": 10.0, "loss_ratio": near(0.00002, rng), "met": true},
        "latency_us": latency(0.9, rng),
        "latency_by_load_us": [latency(0.1, rng), latency(0.5, rng), latency(0.9, rng)],
        "cpu": cpu(rng), "loss_ledger": [{"where": "a tx_dropped", "frames": lost as u64}],
        "overload_ledger": [{"where": "a tx_dropped", "frames": near(386.0, rng) as u64}],
        "frames": frames(10.0 * fps, lost), "trials": 15, "search_s": near(19.0, rng),
        "verdict": "ok", "notes": ["loss with 30 % idle: CPU 0 (napi/d0) is full"],
    })
}

fn trial(cell: &Value, index: usize, rng: &mut Rng) -> Value {
    let load = near(cell["throughput_fps"].as_f64().unwrap_or(1e5), rng);
    let loss = if rng.bool() { 0.0 } else { near(0.01, rng) };
    let frames = frames(load, load * loss);
    json!({
        "schema": 1, "cell": cell["cell"], "repeat": cell["repeat"], "index": index,
        "purpose": {"kind": "search"}, "load_fps": load, "duration_s": 1.0,
        "wall_s": near(1.07, rng), "started_unix_s": 1_795_296_810.0 + index as f64,
        "validity": {"is": "valid"}, "frames": frames, "loss_ratio": loss,
        "forwarding_fps": load * (1.0 - loss),
        "streams": [{"stream": 0, "frames": frames,
            "loss_bursts": {"bursts": rng.u32(0..50_000), "longest": rng.u32(0..900),
                            "by_power_of_two": (0..10).map(|_| rng.u32(0..9000)).collect::<Vec<_>>()},
            "reorder_bursts": {"bursts": 0, "longest": 0, "by_power_of_two": []},
            "reorder_extent_max": 0}],
        "pacing": {"offered_fps": load, "sending_s": near(1.0, rng), "burst_max": rng.u32(1..400),
                   "slips": rng.u32(0..400), "slipped_s": near(0.009, rng),
                   "slip_max_s": near(0.0035, rng), "late_p99_us": near(17.9, rng),
                   "late_max_us": near(3565.0, rng), "refused": 0},
        "latency_us": latency(1.0, rng), "cpu": cpu(rng),
        "loss_ledger": [{"where": "a tx_dropped", "frames": 1594}], "notes": [],
    })
}
