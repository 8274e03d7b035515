//! The longest burst without loss of every cell, and the buffer that it tells of.

use nicety_model::BackToBack;

use crate::document::{Block, Cell, Table, columns};
use crate::number;
use crate::pick::Group;

/// The table; nothing where no bursts were asked for.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let rows: Vec<(&Group<'_>, &BackToBack)> = groups
        .iter()
        .filter_map(|group| Some((group, group.shown.back_to_back.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let sorted = |value: Option<f64>| Cell::sorted(value, number::short);
    let micros = |value: Option<f64>| Cell::number(value, number::micros);
    let table = Table::of(
        "Longest burst without loss, and the buffer behind it",
        rows.iter(),
        columns![|(group, found)|
            "cell" Name: group.name;
            "bursts at, frames/s" Number: sorted(Some(found.rate_fps));
            "longest, frames" Main: longest(found);
            "min to max" Number: extremes(found);
            "buffer, frames" Number: sorted(found.buffer_frames);
            "interval" Number: Cell::of(found.buffer_interval_frames.map(number::interval));
            "buffer, µs" Number: micros(found.buffer_us);
            "delay, µs" Number: micros(found.delay_us);
        ],
    );
    let table = table.legend(
        "Longest is the mean of the repeats (RFC 9004). The buffer is what of it the path had not sent on when \
         the last frame came, in frames and at the rate of the bursts. Delay is how long a full buffer takes at \
         the throughput. Where a burst of 2 s lost nothing, no buffer has filled.",
    );
    vec![Block::Table(table)]
}

fn longest(found: &BackToBack) -> Cell {
    let frames = number::short(found.burst_frames);
    let told = if found.at_least {
        format!("at least {frames}")
    } else {
        frames
    };
    Cell::from(told).by(Some(found.burst_frames))
}

fn extremes(found: &BackToBack) -> Cell {
    let ends = (found.burst_min_frames as f64, found.burst_max_frames as f64);
    Cell::of((ends.0 < ends.1).then(|| number::interval(ends)))
}
