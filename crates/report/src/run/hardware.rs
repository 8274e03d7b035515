//! Latency by the NICs' stamps beside that by the kernel's.

use nicety_model::{HardwareLatency, LatencySummary};

use super::latency;
use crate::document::{Cell, Table, columns};
use crate::number;
use crate::pick::Group;

/// Of a cell at a load share.
type Row<'g> = (&'g Group<'g>, &'g HardwareLatency);

/// A table with a row per cell and load share; nothing where no NIC stamped anything.
pub(super) fn table(groups: &[Group<'_>]) -> Option<Table> {
    let rows = groups.iter().flat_map(|group| {
        let all = group.shown.hardware_latency.iter();
        all.map(move |hardware| (group, hardware))
    });
    let nic = |(_, hardware): &Row<'_>, of: fn(&LatencySummary) -> f64| {
        Cell::sorted(hardware.latency_us.as_ref().map(of), number::micros)
    };
    let kernel = |(group, hardware): &Row<'_>, of: fn(&LatencySummary) -> f64| {
        let ratio = hardware.latency_us.as_ref().and_then(|l| l.load_ratio);
        let mut all = group.shown.latency_by_load_us.iter();
        let same = all.find(|l| ratio.is_some() && l.load_ratio == ratio);
        Cell::sorted(same.map(of), number::micros)
    };
    let table = Table::first(
        "One-way latency in µs of probes beside the load, stamped by the NICs of both ports, and of \
         every frame by the kernel's clock",
        rows,
        columns![|row|
            "cell" Name: row.0.name;
            "load" Number: row.1.latency_us.as_ref().map(latency::share);
            "NICs p50" Number: nic(row, |l| l.p50);
            "NICs p99" Number: nic(row, |l| l.p99);
            "NICs max" Number: nic(row, |l| l.max);
            "kernel p50" Number: kernel(row, |l| l.p50);
            "kernel p99" Number: kernel(row, |l| l.p99);
            "probes" Number: Cell::count(row.1.probes.sent);
            "stamped" Number: Cell::count(row.1.probes.stamped);
            "share of load" Number: Cell::sorted(row.1.load_share, |share| format!("{:.2} %", share * 100.0));
            "stamps" Text: row.1.in_words();
        ],
    );
    (table.total > 0).then_some(table)
}
