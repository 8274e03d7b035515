//! The loss ledger: which counters on the way moved, and how many frames none of them names.

use std::collections::BTreeMap;

use nicety_host::softnet::{self, SoftnetCpu};
use nicety_model::LossEntry;
use nicety_testbed::counters::{self, PathCounters, UNEXPLAINED};

/// Place name of the tester's own receive ring.
const TESTER_RING: &str = "tester receive ring";

/// Lines that belong to no interface: the CPUs' backlogs and the tester's own receive rings.
pub(crate) fn beside_path(
    softnet: Option<&BTreeMap<u32, SoftnetCpu>>,
    tester_drops: u64,
) -> Vec<LossEntry> {
    let mut entries = softnet.map(softnet::losses).unwrap_or_default();
    if tester_drops > 0 {
        entries.push(LossEntry {
            place: TESTER_RING.to_owned(),
            frames: tester_drops,
        });
    }
    entries
}

/// Ledger of a trial that lost `lost` frames: the path's counters, the lines beside it, and
/// what none of them explains.
pub(crate) fn whole(
    lost: u64,
    before: &PathCounters,
    after: &PathCounters,
    beside: Vec<LossEntry>,
) -> Vec<LossEntry> {
    let named: u64 = beside.iter().map(|entry| entry.frames).sum();
    let mut entries = counters::ledger(before, after, lost.saturating_sub(named));
    let at = entries
        .iter()
        .position(|entry| entry.place == UNEXPLAINED)
        .unwrap_or(entries.len());
    entries.splice(at..at, beside);
    entries
}
