//! What daemons and etcd cost.

use anyhow::{Context, Result, anyhow};
use nicety_testkit::etcd::Etcd;

/// What a process has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Process {
    /// Seconds on a CPU, in itself and in the kernel (proc_pid_stat(5): ticks of 10 ms).
    pub cpu_s: f64,
    /// Most memory that it had in RAM (VmHWM).
    pub peak_mb: f64,
    /// The same now, with what several processes share counted in parts (PSS).
    pub part_mb: f64,
}

impl Process {
    pub fn read(id: u32) -> Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let rollup = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup"))?;
        Ok(Self {
            cpu_s: cpu_seconds(id)?,
            peak_mb: megabytes(&status, "VmHWM:").context("no VmHWM")?,
            part_mb: megabytes(&rollup, "Pss:").context("no Pss")?,
        })
    }
}

/// Seconds on a CPU of all threads of a process, without its children.
pub fn cpu_seconds(id: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    let (_, rest) = stat.rsplit_once(") ").context("no stat")?;
    let words: Vec<&str> = rest.split(' ').collect();
    let mut ticks = 0.0;
    for word in words.get(11..13).context("no times in stat")? {
        ticks += word.parse::<f64>()?;
    }
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}

fn megabytes(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kb: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kb / 1024.0)
}

/// A process with all its children and theirs.
pub fn family(id: u32) -> Vec<u32> {
    let mut all = vec![id];
    let mut at = 0;
    while let Some(id) = all.get(at) {
        let tasks = std::fs::read_dir(format!("/proc/{id}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            all.extend(
                children
                    .split_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
        at += 1;
    }
    all
}

/// What etcd has counted so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Store {
    /// Its revision: one more for each transaction that writes.
    pub revision: f64,
    /// Keys written.
    pub puts: f64,
    /// Events sent to watchers, of all members.
    pub events: f64,
}

impl Store {
    pub fn read(etcd: &Etcd, members: usize) -> Result<Self> {
        let failed = |error: Box<dyn std::error::Error>| anyhow!("{error}");
        let header = etcd.told(&["get", "/none", "-w", "json"]).map_err(failed)?;
        let header: serde_json::Value = serde_json::from_str(&header)?;
        let revision = header["header"]["revision"]
            .as_f64()
            .context("no revision")?;
        let mut read = Self {
            revision,
            ..Self::default()
        };
        for member in 0..members {
            let page = etcd.metrics(member).map_err(failed)?;
            let value = |name: &str| {
                let mut lines = page.lines();
                let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
                let value = value.with_context(|| format!("etcd has no {name}"))?;
                Ok::<f64, anyhow::Error>(value.trim().parse()?)
            };
            // Every member counts all writes, and its own watchers.
            read.puts = value("etcd_debugging_mvcc_put_total")?;
            read.events += value("etcd_debugging_mvcc_events_total")?;
        }
        Ok(read)
    }

    pub fn since(&self, before: &Self) -> Self {
        Self {
            revision: self.revision - before.revision,
            puts: self.puts - before.puts,
            events: self.events - before.events,
        }
    }
}
