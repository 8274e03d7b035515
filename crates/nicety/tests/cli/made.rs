//! Run directories made of numbers, for commands that only read them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A run directory to be written.
#[derive(Debug, Clone)]
pub struct Made {
    pub name: String,
    pub started: String,
    pub seed: u64,
    pub preset: String,
    pub kernel: String,
    /// Cell by frame size: the throughput of each repeat.
    pub cells: Vec<(u16, Vec<f64>)>,
    pub verdict: String,
    /// Loss goals, the strictest first: name, loss, and its throughput over that of the cell.
    pub goals: Vec<(&'static str, f64, f64)>,
}

/// A run of each night, which loses a tenth from the `loss`th on, with what `change` makes of it. Returns their names.
pub fn nights(dir: &Path, count: u64, loss: u64, change: impl Fn(u64, &mut Made)) -> Vec<String> {
    let night = |day: u64| {
        let level = if day < loss { 100_000.0 } else { 90_000.0 };
        let wobble = f64::from(u32::try_from(day * 7 % 5).unwrap()) * 200.0;
        let mut made = Made::new(day, &[(64, &[level + wobble, level - wobble])]);
        made.started = format!("2026-03-{day:02}T01:00:00Z");
        change(day, &mut made);
        let name = format!("night-{day:02}");
        made.write(dir, &name);
        name
    };
    (1..=count).map(night).collect()
}

impl Made {
    /// A run of these cells.
    pub fn new(seed: u64, cells: &[(u16, &[f64])]) -> Self {
        Self {
            name: "made".to_owned(),
            started: format!("2026-03-{:02}T09:26:53Z", 1 + seed % 28),
            seed,
            preset: "quick".to_owned(),
            kernel: "6.18.5".to_owned(),
            cells: cells
                .iter()
                .map(|(size, values)| (*size, values.to_vec()))
                .collect(),
            verdict: "ok".to_owned(),
            goals: Vec::new(),
        }
    }

    fn plan(&self) -> String {
        let sizes: Vec<String> = self
            .cells
            .iter()
            .map(|(size, _)| size.to_string())
            .collect();
        format!(
            "name = {:?}\n[traffic]\nframe_sizes = [{}]\n[search]\npreset = {:?}\n[[path]]\nkind = \"bridge\"\n",
            self.name,
            sizes.join(", "),
            self.preset
        )
    }

    fn lines(&self) -> Vec<Value> {
        let goals = |fps: f64| -> Vec<Value> {
            let goals = self.goals.iter();
            let of = |(name, loss, factor): &(&str, f64, f64)| {
                json!({
                    "goal": name, "loss_goal": loss, "throughput_fps": fps * factor,
                    "lower_fps": fps * factor, "upper_fps": fps * factor * 1.02, "verdict": "ok",
                })
            };
            goals.map(of).collect()
        };
        let cell = |size: u16, repeat: usize, fps: f64| {
            json!({
                "schema": 1, "cell": format!("bridge/{size}/uni"), "repeat": repeat + 1,
                "path": {"kind": "bridge"}, "frame_size_bytes": size, "direction": "uni",
                "flows": 1, "engine": "af_packet", "loss_goal": 0.0001, "throughput_fps": fps,
                "lower_fps": fps, "upper_fps": fps * 1.02,
                "throughput_l1_mbps": fps * (f64::from(size) + 20.0) * 8.0 / 1e6,
                "latency_us": {"load_ratio": 0.9, "min": 3.0, "mean": 9.0, "p50": 8.0,
                               "p90": 12.0, "p99": 30.0, "p999": 90.0, "max": 400.0,
                               "samples": 100_000},
                "trials": 9, "search_s": 20.0, "verdict": self.verdict, "notes": [],
                "goals": goals(fps),
            })
        };
        self.cells
            .iter()
            .flat_map(|(size, values)| {
                values
                    .iter()
                    .enumerate()
                    .map(move |(repeat, fps)| cell(*size, repeat, *fps))
            })
            .collect()
    }

    /// Writes the directory `dir/name`.
    pub fn write(&self, dir: &Path, name: &str) -> PathBuf {
        let run = dir.join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("plan.toml"), self.plan()).unwrap();
        let host = json!({
            "nicety": "0.1.0", "privileged": true, "kernel": self.kernel, "cmdline": "quiet",
            "os": "Debian", "cpu_model": "EPYC", "cpus": 2, "cpus_allowed": [0, 1],
            "sockets": 1, "numa": {}, "smt": "on", "governor": {}, "mitigations": {},
            "isolated": [], "hypervisor": null, "clocksource": "tsc", "microcode": "0x1",
            "memory_mib": 8000, "hugepages": {}, "sysctl": {}, "interfaces": {}, "bios": null,
        });
        let meta = json!({
            "schema": 1, "name": self.name, "started": self.started, "seed": self.seed,
            "preset": self.preset, "loss_goal": 0.0001, "command": "nicety bench plan.toml",
            "elapsed_s": 61.0, "complete": true,
        });
        let tester = json!({"schema": 1, "engine": "af_packet", "limit_fps": {"64": 900_000.0}});
        for (file, value) in [
            ("host.json", host),
            ("run.json", meta),
            ("tester.json", tester),
        ] {
            fs::write(run.join(file), value.to_string()).unwrap();
        }
        let lines: Vec<String> = self
            .lines()
            .iter()
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(run.join("cells.jsonl"), lines.concat()).unwrap();
        fs::write(run.join("trials.jsonl"), "").unwrap();
        run
    }
}
