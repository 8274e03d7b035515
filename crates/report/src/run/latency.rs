//! Latency of a cell: percentiles at every load share, and how they grow with the load.

mod figure;

use nicety_model::LatencySummary;

use super::hardware;
use crate::document::{Block, Cell, Table, columns};
use crate::number;
use crate::pick::Group;

/// Percentiles of a summary with the share of the frames that took longer, lowest first.
fn percentiles(latency: &LatencySummary) -> [(&'static str, f64, f64); 4] {
    [
        ("p50", 0.5, latency.p50),
        ("p90", 0.1, latency.p90),
        ("p99", 0.01, latency.p99),
        ("p99.9", 0.001, latency.p999),
    ]
}

/// Every load share of a cell, lowest first.
fn shares<'a>(group: &'a Group<'_>) -> Vec<&'a LatencySummary> {
    let all = &group.shown.latency_by_load_us;
    if all.is_empty() {
        group.shown.latency_us.iter().collect()
    } else {
        all.iter().collect()
    }
}

/// Load share in words: `90 %`, or that it is unknown.
fn share_words(latency: &LatencySummary) -> String {
    latency
        .load_ratio
        .map_or_else(|| "unknown".to_owned(), number::share)
}

pub(super) fn share(latency: &LatencySummary) -> Cell {
    Cell::from(share_words(latency)).by(latency.load_ratio)
}

/// The section: growth with the load, percentiles, then the numbers.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let drawn = figure::blocks(groups);
    if drawn.is_empty() {
        return vec![Block::text("Latency was not measured.")];
    }
    let mut blocks = vec![Block::text(
        "One way, from the stamp at sending to the receiver’s clock on the same machine. The scale is \
         logarithmic.",
    )];
    blocks.extend(drawn);
    blocks.push(Block::Table(table(groups)));
    blocks.extend(hardware::table(groups).map(Block::Table));
    blocks
}

/// Table of every cell and load share.
fn table(groups: &[Group<'_>]) -> Table {
    let rows = groups.iter().flat_map(|group| {
        shares(group)
            .into_iter()
            .map(move |latency| (group, latency))
    });
    let micros = |value: f64| Cell::sorted(value, number::micros);
    let at = |latency: &LatencySummary, n: usize| {
        let (_, beyond, value) = percentiles(latency)[n];
        if latency.knows(beyond) {
            micros(value)
        } else {
            Cell::absent()
        }
    };
    Table::first(
        "One-way latency in µs of every frame received",
        rows,
        columns![|(group, latency)|
            "cell" Name: group.name;
            "load" Number: share(latency);
            "min" Number: micros(latency.min);
            "p50" Number: at(latency, 0);
            "p90" Number: at(latency, 1);
            "p99" Number: at(latency, 2);
            "p99.9" Number: at(latency, 3);
            "max" Number: micros(latency.max);
            "mean" Number: micros(latency.mean);
            "frames" Number: Cell::count(latency.samples);
            "verdict" Text: group.verdict();
        ],
    )
    .legend("A percentile needs ten slower frames: p99.9 needs 10,000 frames.")
}
