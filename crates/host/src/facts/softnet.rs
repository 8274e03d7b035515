//! Frames per CPU since boot.

use std::collections::BTreeMap;

use nicety_model::facts::SoftnetFacts;

use crate::roots::ProcRoot;
use crate::softnet::SoftnetSample;

pub(super) fn read(proc: &ProcRoot) -> Vec<SoftnetFacts> {
    let sample = SoftnetSample::read(proc).unwrap_or_default();
    let net_rx = net_rx(&proc.text("softirqs").unwrap_or_default());
    sample
        .cpus
        .iter()
        .map(|(&cpu, counters)| SoftnetFacts {
            cpu,
            processed: counters.processed.into(),
            dropped: counters.dropped.into(),
            time_squeeze: counters.time_squeeze.into(),
            received_rps: counters.received_rps.into(),
            net_rx: net_rx.get(&cpu).copied(),
        })
        .collect()
}

/// The row `NET_RX` of `/proc/softirqs`.
pub(super) fn net_rx(text: &str) -> BTreeMap<u32, u64> {
    let mut lines = text.lines();
    let cpus = lines.next().unwrap_or_default().split_ascii_whitespace();
    let cpus = cpus.filter_map(|word| word.strip_prefix("CPU")?.parse::<u32>().ok());
    let row = lines.find_map(|line| line.trim_start().strip_prefix("NET_RX:"));
    let counts = row.unwrap_or_default().split_ascii_whitespace();
    cpus.zip(counts.filter_map(|word| word.parse().ok()))
        .collect()
}
