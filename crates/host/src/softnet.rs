//! Per-CPU counters of packet reception: `/proc/net/softnet_stat`.
//!
//! The counters are the machine's, whatever network namespace reads them (net/core/
//! net-procfs.c, `softnet_seq_show`), so other traffic counts too.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use nicety_model::LossEntry;

use crate::roots::{FactError, ProcRoot};

/// Counters of one CPU. All are 32 bits wide in the kernel and wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoftnetCpu {
    /// Frames taken in.
    pub processed: u32,
    /// Frames dropped because the backlog was longer than `net.core.netdev_max_backlog`.
    pub dropped: u32,
    /// Times the softirq stopped with work left: `netdev_budget` or `netdev_budget_usecs` ran
    /// out.
    pub time_squeeze: u32,
    /// Wake-ups by another CPU for receive packet steering.
    pub received_rps: u32,
    /// Frames dropped by the flow limit.
    pub flow_limit: u32,
    /// Frames in the backlog now; absent before Linux 5.10. A length, not a counter.
    pub backlog_len: Option<u32>,
}

/// Counters of all online CPUs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SoftnetSample {
    /// By CPU number; by row where the kernel does not print the number (before Linux 5.10).
    pub cpus: BTreeMap<u32, SoftnetCpu>,
}

impl SoftnetSample {
    /// Reads `/proc/net/softnet_stat`.
    ///
    /// # Errors
    /// When the file cannot be read or no row is understood.
    pub fn read(proc: &ProcRoot) -> Result<Self, FactError> {
        let what = "receive counters per CPU";
        let text = proc.require("net/softnet_stat", what)?;
        let sample = Self::parse(&text);
        if sample.cpus.is_empty() {
            return Err(FactError::malformed(
                what,
                proc.path("net/softnet_stat"),
                &text,
            ));
        }
        Ok(sample)
    }

    /// Rows of hexadecimal columns; rows that are not understood are left out.
    pub fn parse(text: &str) -> Self {
        let rows = text.lines().enumerate().filter_map(|(row, line)| {
            let columns: Vec<u32> = line
                .split_ascii_whitespace()
                .map(|word| u32::from_str_radix(word, 16).ok())
                .collect::<Option<_>>()?;
            let column = |index: usize| columns.get(index).copied();
            let cpu = match column(12) {
                Some(cpu) => cpu,
                None => u32::try_from(row).ok()?,
            };
            Some((
                cpu,
                SoftnetCpu {
                    processed: column(0)?,
                    dropped: column(1)?,
                    time_squeeze: column(2)?,
                    // The columns after these came one by one since Linux 2.6.35.
                    received_rps: column(9).unwrap_or(0),
                    flow_limit: column(10).unwrap_or(0),
                    backlog_len: column(11),
                },
            ))
        });
        Self {
            cpus: rows.collect(),
        }
    }

    /// What was counted since `before`, by CPU. Wrap-aware; a CPU that is in one sample only,
    /// or whose counters went backwards, is left out. `backlog_len` is that of `self`.
    pub fn since(&self, before: &Self) -> BTreeMap<u32, SoftnetCpu> {
        self.cpus
            .iter()
            .filter_map(|(&cpu, now)| Some((cpu, difference(before.cpus.get(&cpu)?, now)?)))
            .collect()
    }
}

/// More than half the range in one trial is no wrap but a counter that went backwards.
fn moved(before: u32, now: u32) -> Option<u32> {
    let moved = now.wrapping_sub(before);
    (moved <= u32::MAX / 2).then_some(moved)
}

fn difference(before: &SoftnetCpu, now: &SoftnetCpu) -> Option<SoftnetCpu> {
    Some(SoftnetCpu {
        processed: moved(before.processed, now.processed)?,
        dropped: moved(before.dropped, now.dropped)?,
        time_squeeze: moved(before.time_squeeze, now.time_squeeze)?,
        received_rps: moved(before.received_rps, now.received_rps)?,
        flow_limit: moved(before.flow_limit, now.flow_limit)?,
        backlog_len: now.backlog_len,
    })
}

/// Ledger lines for frames that died in the backlog: `cpu1 softnet dropped`,
/// `cpu1 softnet flow_limit`. The flow limit's drops are also counted as dropped (net/core/
/// dev.c, `enqueue_to_backlog`), so they are taken out of that line.
pub fn losses(moved: &BTreeMap<u32, SoftnetCpu>) -> Vec<LossEntry> {
    let mut entries = Vec::new();
    for (cpu, counters) in moved {
        let full = counters.dropped.saturating_sub(counters.flow_limit);
        for (what, frames) in [("dropped", full), ("flow_limit", counters.flow_limit)] {
            if frames > 0 {
                entries.push(LossEntry::counted(
                    format!("cpu{cpu} softnet {what}"),
                    u64::from(frames),
                ));
            }
        }
    }
    entries
}
