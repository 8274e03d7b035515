//! What daemons and etcd cost.

use anyhow::{Context, Result, anyhow};
use nicety_benchmarks::process::{cpu_seconds, memory_mb};
use nicety_testkit::etcd::Etcd;

/// What a process has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Process {
    /// Seconds on a CPU, in itself and in the kernel.
    pub cpu_s: f64,
    /// Most memory that it had in RAM.
    pub peak_mb: f64,
}

impl Process {
    pub fn read(id: u32) -> Result<Self> {
        Ok(Self {
            cpu_s: cpu_seconds(id)?,
            peak_mb: memory_mb(id, "VmHWM")?,
        })
    }
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
