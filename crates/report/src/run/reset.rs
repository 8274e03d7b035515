//! How long every cell's path was down when it was reset.

use nicety_model::ResetTime;

use crate::document::{Block, Cell, Table, columns};
use crate::number;
use crate::pick::Group;

/// The table; nothing where no path was reset.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let rows: Vec<(&Group<'_>, &ResetTime)> = groups
        .iter()
        .filter_map(|group| Some((group, group.shown.reset.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let table = Table::of(
        "Reset: how long no frame passes",
        rows.iter(),
        columns![|(group, found)|
            "cell" Name: group.name;
            "reset by" Text: found.by.in_words();
            "at, frames/s" Number: Cell::sorted(Some(found.load_fps), number::short);
            "reset time, ms" Main: time(found);
            "min to max" Number: extremes(found);
            "by loss, ms" Number: Cell::number(found.by_loss_s.map(|s| s * 1e3), millis);
            "back" Number: format!("{} of {}", found.trials - found.not_back, found.trials);
        ],
    );
    let table = table.legend(
        "Frames come at the throughput while the path is reset. The reset time is that from the last frame before \
         the outage to the first behind it, by when they were sent (RFC 6201, time-stamp method). It is the median \
         of the trials. By loss is all lost frames over their rate (frame-loss method).",
    );
    vec![Block::Table(table)]
}

fn time(found: &ResetTime) -> Cell {
    match found.outage_s {
        Some(seconds) if found.not_back == 0 => Cell::number(Some(seconds * 1e3), millis),
        _ => {
            let limit = number::seconds(found.limit_s);
            Cell::from(format!("not back in {limit}")).by(Some(found.limit_s * 1e3))
        }
    }
}

fn extremes(found: &ResetTime) -> Cell {
    let ends = found.outage_interval_s.filter(|(low, high)| low < high);
    Cell::of(ends.map(|(low, high)| {
        let [low, high] = [low, high].map(|seconds| millis(seconds * 1e3));
        format!("{low} to {high}")
    }))
}

/// Milliseconds: three digits, or whole ones.
fn millis(value: f64) -> String {
    if value.abs() < 999.5 {
        number::significant(value, 3)
    } else {
        number::grouped(value)
    }
}
