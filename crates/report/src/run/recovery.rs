//! How long every cell's path went on losing frames after an overload.

use nicety_model::Recovery;

use crate::document::{Block, Cell, Table, columns};
use crate::number;
use crate::pick::Group;

/// The table; nothing where recovery was not asked for.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let rows: Vec<(&Group<'_>, &Recovery)> = groups
        .iter()
        .filter_map(|group| Some((group, group.shown.recovery.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let sorted = |value: f64| Cell::sorted(Some(value), number::short);
    let table = Table::of(
        "System recovery: how long frames are lost when an overload ends",
        rows.iter(),
        columns![|(group, found)|
            "cell" Name: group.name;
            "overload, frames/s" Number: sorted(found.overload_fps);
            "of throughput" Number: share(found);
            "for" Number: number::seconds(found.overload_s);
            "then, frames/s" Number: sorted(found.then_fps);
            "recovery, µs" Main: recovery(found);
            "min to max" Number: extremes(found);
            "overloaded" Number: format!("{} of {}", found.overloaded, found.trials);
        ],
    );
    let table = table.legend(
        "The overload becomes half of its load within one trial (RFC 2544 §26.5, which asks for 60 s of it). \
         Recovery is the time from that step to the last lost frame, by when it was sent: median of the trials. \
         At 0, no frame sent behind the step was lost. A path that is not overloaded lost no more than the goal \
         allows.",
    );
    vec![Block::Table(table)]
}

fn share(found: &Recovery) -> String {
    let share = number::share(found.overload_ratio);
    if found.at_highest {
        format!("{share}, highest")
    } else {
        share
    }
}

fn recovery(found: &Recovery) -> Cell {
    match found.recovery_s {
        None => Cell::from("not overloaded".to_owned()),
        Some(_) if found.at_least => {
            let watched = number::seconds(found.watched_s);
            Cell::from(format!("more than {watched}")).by(Some(found.watched_s * 1e6))
        }
        Some(seconds) => Cell::number(Some(seconds * 1e6), number::micros),
    }
}

fn extremes(found: &Recovery) -> Cell {
    let ends = found.recovery_interval_s.filter(|(low, high)| low < high);
    Cell::of(ends.map(|(low, high)| {
        let [low, high] = [low, high].map(|seconds| number::micros(seconds * 1e6));
        format!("{low} to {high}")
    }))
}
