//! The loss ledger: which counters on the way moved, and how many frames none of them names.

use std::collections::BTreeMap;

use nicety_host::softnet::{self, SoftnetCpu};
use nicety_model::LossEntry;
use nicety_paths::counters::{self, PathCounters, Role, UNEXPLAINED};
use nicety_port::EngineReport;

/// Place name of the tester's own receive ring.
pub(crate) const TESTER_RING: &str = "tester receive ring";

/// Lines that belong to no interface: the CPUs' backlogs and the tester's own receive rings.
pub(crate) fn beside_path(
    softnet: Option<&BTreeMap<u32, SoftnetCpu>>,
    tester_drops: u64,
) -> Vec<LossEntry> {
    let mut entries = softnet.map(softnet::losses).unwrap_or_default();
    if tester_drops > 0 {
        entries.push(LossEntry::counted(TESTER_RING, tester_drops));
    }
    entries
}

/// Ledger of a trial that lost `lost` frames: the path's counters, the lines beside it, and
/// what none of them explains.
pub(crate) fn complete(
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

/// `after` without what interfaces count for XDP frames beside each frame's own loss, as the engine
/// says that they do ([`XdpCounts`](nicety_port::XdpCounts)):
///
/// - what a veth's ring refused, at the far end;
/// - what the receive program has accounted and dropped, at the port. A driver that counts these
///   counts all of them, so a counter that moved by less is about something else.
pub(crate) fn without_xdp(
    before: &PathCounters,
    mut after: PathCounters,
    report: &EngineReport,
) -> PathCounters {
    let mut places: Vec<_> = after
        .interfaces
        .iter_mut()
        .filter(|place| place.role != Role::Bridge)
        .collect();
    for (number, (sender, stream)) in report.senders.iter().zip(&report.streams).enumerate() {
        // Stream 0 goes along the list, stream 1 against it.
        if number == 1 {
            places.reverse();
        }
        let last = places.len().saturating_sub(1);
        let mut take = |at: usize, least: u64, most: u64| {
            if let Some(place) = places.get_mut(at) {
                let old = before.of(&place.interface).map_or(0, |c| c.rx_dropped);
                let dropped = &mut place.counters.rx_dropped;
                let moved = dropped.saturating_sub(old);
                if moved >= least {
                    *dropped -= moved.min(most);
                }
            }
        };
        if report.xdp.refused_twice {
            take(1, 0, sender.refused_by_path);
        }
        if report.xdp.assumed_dropped.get(number) == Some(&true) {
            let frames = &stream.frames;
            let accounted = frames.received + frames.duplicate + frames.corrupt;
            // Late frames of ours are foreign, and dropped as well.
            take(last, accounted, accounted + frames.foreign);
        }
        if number == 1 {
            places.reverse();
        }
    }
    after
}

#[cfg(test)]
mod tests;
