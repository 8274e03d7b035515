//! What paths do at shares of their throughput: forwarding rate, loss and latency.

use nicety_model::CurvePoint;

use crate::document::{Block, Cell, Table, columns};
use crate::number;
use crate::pick::Group;

/// The table of every cell and load; nothing where no curve was asked for.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let rows: Vec<(&Group<'_>, &CurvePoint)> = groups
        .iter()
        .flat_map(|group| group.shown.curve.iter().map(move |point| (group, point)))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let micros = |value: Option<f64>| Cell::number(value, number::micros);
    let rate = |value: f64| Cell::sorted(value, number::short);
    let table = Table::of(
        "Forwarding rate, loss and latency against load",
        rows.iter(),
        columns![|(group, point)|
            "cell" Name: group.name;
            "load" Number: Cell::from(number::share(point.load_ratio)).by(Some(point.load_ratio));
            "offered, frames/s" Number: rate(point.load_fps);
            "forwarded" Main: rate(point.forwarding_fps);
            "loss" Number: Cell::sorted(point.loss_ratio.0, number::loss);
            "p50 µs" Number: micros(percentile(point, 0.5, |l| l.p50));
            "p99 µs" Number: micros(percentile(point, 0.01, |l| l.p99));
            "p99.9 µs" Number: micros(percentile(point, 0.001, |l| l.p999));
        ],
    );
    let table = table.legend(
        "Load is the share of the throughput; 0 % is one frame at a time. A percentile needs ten slower \
         frames: p99.9 needs 10,000 frames.",
    );
    vec![Block::Table(table)]
}

/// A percentile that the share `beyond` exceeds, where there are frames enough for it.
fn percentile(
    point: &CurvePoint,
    beyond: f64,
    of: fn(&nicety_model::LatencySummary) -> f64,
) -> Option<f64> {
    let latency = point.latency_us.as_ref()?;
    latency.knows(beyond).then(|| of(latency))
}
