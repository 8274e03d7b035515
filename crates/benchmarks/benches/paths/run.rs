//! A run of the program in a directory of its own, and what it leaves there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use nicety_benchmarks::nicety;
use nicety_benchmarks::process::{family, memory_mb};
use nicety_benchmarks::program::Held;
use nicety_host::child;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;

/// Longest wait for a trial, and for the end.
const LIMIT: Duration = Duration::from_secs(180);
/// One cell twice: the second visit is on the same path, and nothing else is measured for it.
const HEAD: &str = "[traffic]
frame_sizes = 64
[search]
preset = \"quick\"
loss_ratio = 0.5
confirm = \"0s\"
repeats = 2
[[path]]
";

/// What is needed of a trial's record.
#[derive(Debug, Deserialize)]
pub struct Trial {
    pub repeat: u32,
    pub started_unix_s: f64,
    pub wall_s: f64,
}

/// A plan and its directory.
pub struct Run<'a> {
    dir: &'a Path,
    cache: Option<&'a PathBuf>,
}

impl<'a> Run<'a> {
    pub fn new(dir: &'a Path, path: &str, cache: Option<&'a PathBuf>) -> Result<Self> {
        fs::write(dir.join("plan.toml"), format!("{HEAD}{path}\n"))?;
        Ok(Self { dir, cache })
    }

    /// Starts the program.
    pub fn start(&self, words: &[&str]) -> Result<Running> {
        let mut command = Command::new(nicety());
        command.args(words).current_dir(self.dir);
        if let Some(cache) = self.cache {
            command.env("NICETY_CACHE", cache);
        }
        let said = self.dir.join("stderr");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&said)?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(Running {
            held: Held::killed(child::spawn(command)?),
            started_unix_s: now.as_secs_f64(),
            trials: self.dir.join("run/trials.jsonl"),
            said,
            end: Instant::now() + LIMIT,
        })
    }

    /// The trials, in order.
    pub fn trials(&self) -> Result<Vec<Trial>> {
        let text = fs::read_to_string(self.dir.join("run/trials.jsonl"))?;
        let lines = text.lines().map(|line| Ok(serde_json::from_str(line)?));
        lines.collect()
    }

    /// What the run says about what its path is made of.
    pub fn note(&self, name: &str) -> Result<Option<String>> {
        let text = fs::read_to_string(self.dir.join("run/run.json"))?;
        let meta: Value = serde_json::from_str(&text)?;
        let notes = meta["notes"].as_array().into_iter().flatten();
        let kind = name.split(' ').next().unwrap_or(name);
        let start = if kind == "vm" { "guest with" } else { kind };
        Ok(notes
            .filter_map(|note| note["text"].as_str())
            .find(|note| note.starts_with(start))
            .map(str::to_owned))
    }

    /// Leaves a run that has measured the tester and nothing else.
    pub fn forget_trials(&self) -> Result<()> {
        for name in ["trials.jsonl", "cells.jsonl"] {
            File::create(self.dir.join("run").join(name))?;
        }
        Ok(())
    }
}

/// The program at work.
pub struct Running {
    held: Held,
    pub started_unix_s: f64,
    trials: PathBuf,
    said: PathBuf,
    end: Instant,
}

impl Running {
    /// Waits for the record of a trial of this visit to the cell.
    pub fn until_trial_of(&mut self, repeat: u32) -> Result<()> {
        let mut looked_at = 0;
        // Reading again what has not grown would take time from what is measured.
        let mut there = || {
            let bytes = fs::metadata(&self.trials).map_or(0, |file| file.len());
            if std::mem::replace(&mut looked_at, bytes) == bytes {
                return false;
            }
            let text = fs::read_to_string(&self.trials).unwrap_or_default();
            // A line may be half written.
            let trials = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok());
            trials
                .into_iter()
                .any(|trial: Trial| trial.repeat == repeat)
        };
        while !there() {
            if self.held.child.try_wait()?.is_some() {
                bail!("ended without a trial: {}", self.last_line());
            }
            self.in_time("trial")?;
        }
        Ok(())
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> Result<()> {
        let status = loop {
            if let Some(status) = self.held.child.try_wait()? {
                break status;
            }
            self.in_time("end")?;
        };
        match status.code() {
            // 4: it was interrupted.
            Some(0 | 1 | 4) => Ok(()),
            _ => bail!("{status}: {}", self.last_line()),
        }
    }

    /// Ctrl-C, and waits for the end.
    pub fn interrupt(&mut self) -> Result<()> {
        // Fails when it has ended, which is as well.
        let _ = kill_process(Pid::from_child(&self.held.child), Signal::INT);
        self.wait()
    }

    /// Memory that its QEMU holds now, in MB.
    pub fn qemu_mb(&self) -> Option<f64> {
        let is_qemu = |id: &u32| {
            let name = fs::read_to_string(format!("/proc/{id}/comm"));
            name.is_ok_and(|name| name.starts_with("qemu"))
        };
        let qemu = family(self.held.child.id()).into_iter().find(is_qemu)?;
        memory_mb(qemu, "VmRSS").ok()
    }

    fn in_time(&self, what: &str) -> Result<()> {
        if Instant::now() > self.end {
            bail!("no {what} in {} s: {}", LIMIT.as_secs(), self.last_line());
        }
        sleep(Duration::from_millis(5));
        Ok(())
    }

    /// Why its cell was skipped, else the last line it said.
    fn last_line(&self) -> String {
        let meta = fs::read(self.trials.with_file_name("run.json")).unwrap_or_default();
        let meta: Value = serde_json::from_slice(&meta).unwrap_or_default();
        if let Some(reason) = meta["skipped"][0]["reason"].as_str() {
            return format!("skipped: {reason}");
        }
        let text = fs::read_to_string(&self.said).unwrap_or_default();
        text.lines().last().unwrap_or("it said nothing").to_owned()
    }
}
