//! The loss ledger: where frames were lost, in the confirm trial and just above the throughput.

use std::collections::BTreeMap;

use nicety_model::LossEntry;

use crate::document::{Block, Cell, Table, columns};
use crate::fate;
use crate::number;
use crate::pick::Group;
use crate::place;

/// The name of what no counter explains.
const UNEXPLAINED: &str = "unexplained";

/// The table, and what stands behind places whose names do not say it.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let told: Vec<&Group<'_>> = groups
        .iter()
        .filter(|g| {
            g.shown.frames.is_some()
                || !g.shown.loss_ledger.is_empty()
                || !g.shown.overload_ledger.is_empty()
        })
        .collect();
    if told.is_empty() {
        return vec![Block::text("No counters of the path were read.")];
    }
    let table = Table::first(
        "Where frames were lost",
        &told,
        columns![|g|
            "cell" Name: g.name;
            "lost in confirm" Number: lost(g);
            "where, in confirm" Text: places(&g.shown.loss_ledger);
            "unexplained" Number: unexplained(&g.shown.loss_ledger);
            "where, in overload" Text: places(&g.shown.overload_ledger);
            "unexplained" Number: unexplained(&g.shown.overload_ledger);
        ],
    );
    let entries = groups
        .iter()
        .flat_map(|g| g.shown.loss_ledger.iter().chain(&g.shown.overload_ledger));
    let meanings: BTreeMap<&str, String> = entries
        .filter_map(|entry| {
            let found = entry.cause.as_ref().and_then(fate::meaning);
            let meaning = found.or_else(|| place::meaning(&entry.place))?;
            Some((entry.place.as_str(), meaning))
        })
        .collect();
    let mut blocks = vec![
        Block::text(
            "Frames lost at each place, by its counters. “Overload” is the trial just above the throughput: \
             it shows what gave out first. No counter saw “unexplained” frames.",
        ),
        Block::Table(table),
    ];
    if !meanings.is_empty() {
        let terms = meanings.into_iter();
        blocks.push(Block::Terms(
            terms
                .map(|(place, meaning)| (place.into(), meaning))
                .collect(),
        ));
    }
    blocks
}

fn lost(group: &Group<'_>) -> Cell {
    group.shown.frames.map_or_else(Cell::absent, |frames| {
        Cell::count(frames.lost)
            .by(Some(frames.lost as f64))
            .details([format!("of {}", number::count(frames.sent))])
    })
}

/// The places that have a name.
fn places(entries: &[LossEntry]) -> Cell {
    let named = entries.iter().filter(|entry| entry.place != UNEXPLAINED);
    let line = |entry: &LossEntry| format!("{} {}", entry.place, number::count(entry.frames));
    Cell::list(named.map(line).collect())
}

/// What none of them explains.
fn unexplained(entries: &[LossEntry]) -> Cell {
    match entries.iter().find(|entry| entry.place == UNEXPLAINED) {
        Some(entry) => Cell::count(entry.frames),
        None if entries.is_empty() => Cell::absent(),
        None => Cell::count(0),
    }
}
