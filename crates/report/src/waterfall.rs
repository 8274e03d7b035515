//! The path of every trial of fates as its frames fell through it: a row per station, then why and what is not known;
//! on pages also bars.

mod drawn;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use nicety_model::hop::HopTime;
use nicety_model::waterfall::{Waterfall, WaterfallStation};
use nicety_model::{LatencySummary, Run, total};

use crate::document::table::Narrow;
use crate::document::{Block, Cell, Medium, Table, columns};
use crate::number;
use crate::pick::Group;

/// A row of the table.
struct Row {
    name: String,
    frames: [Option<u64>; 3],
    time: Option<HopTime>,
    cpus: String,
}

/// The waterfalls of all cells shown; of more than `most` the others are counted.
pub(crate) fn blocks(run: &Run, groups: &[Group<'_>], medium: Medium, most: usize) -> Vec<Block> {
    let shown: Vec<&Waterfall> = groups
        .iter()
        .flat_map(|group| {
            let own = |of: &&Waterfall| of.cell == group.name && of.repeat == group.shown.repeat;
            let control = group.shown.control.is_some();
            run.waterfalls.iter().filter(own).filter(move |_| !control)
        })
        .collect();
    let mut blocks = Vec::new();
    for waterfall in shown.iter().take(most) {
        blocks.push(match medium {
            Medium::Page => Block::Drawn(drawn::figure(waterfall)),
            // There tables have no captions.
            Medium::Terminal | Medium::Markdown => Block::text(words::title(waterfall) + "."),
        });
        blocks.push(Block::Table(table(waterfall)));
        let lines = words::lines(waterfall);
        if !lines.is_empty() {
            blocks.push(Block::List(lines));
        }
        blocks.push(Block::Remark(words::remark(waterfall)));
    }
    if shown.len() > most {
        let more = number::plural(shown.len() - most, "more trial");
        blocks.push(Block::text(format!("The page tells of {more}.")));
    }
    blocks
}

/// The stations in their order, and the whole.
fn table(waterfall: &Waterfall) -> Table {
    let mut rows: Vec<Row> = waterfall.stations.iter().flat_map(rows).collect();
    rows.push(Row {
        name: "all".to_owned(),
        frames: [
            Some(waterfall.sent),
            Some(waterfall.received),
            Some(waterfall.sent.saturating_sub(waterfall.received)),
        ],
        time: waterfall.end_to_end,
        cpus: String::new(),
    });
    // With fewer samples beyond it a percentile is the largest value, or close to it.
    let known = LatencySummary {
        samples: waterfall.sampled.unwrap_or(0),
        ..LatencySummary::default()
    };
    let us = |ns: u64| number::micros(ns as f64 / 1e3);
    let table = Table::of(
        words::title(waterfall),
        &rows,
        columns![|row|
            "station" Name: row.name.as_str();
            "in" Number: row.frames[0].map(Cell::count);
            "out" Number: row.frames[1].map(Cell::count);
            "lost" Number: row.frames[2].map(Cell::count);
            "p50 µs" Number: row.time.map(|time| us(time.p50_ns));
            "p99 µs" Number: row.time.filter(|_| known.knows(0.01)).map(|time| us(time.p99_ns));
            "CPU" Text: Some(row.cpus.as_str()).filter(|cpus| !cpus.is_empty());
        ],
    );
    table
        .speaking(|name, cell| name == "station" || name == "lost" || !cell.is_absent())
        .narrow(&[
            ("CPU", Narrow::Named),
            ("p99 µs", Narrow::Named),
            ("p50 µs", Narrow::Named),
            ("in", Narrow::Named),
        ])
}

/// A station; where frames were seen at several places of it, a row for the time to each.
fn rows(station: &WaterfallStation) -> Vec<Row> {
    let name = if station.station.is_empty() {
        station.kind.clone()
    } else {
        station.station.clone()
    };
    let first = Row {
        name,
        frames: [station.frames_in, station.frames_out, Some(station.lost)],
        time: match station.hops.as_slice() {
            [one] if one.is_known() => Some(one.time),
            _ => None,
        },
        cpus: words::cpus(station),
    };
    let many = station.hops.iter().filter(|_| station.hops.len() > 1);
    let more = many.map(|hop| Row {
        name: format!("until {}", hop.to),
        frames: [None; 3],
        time: hop.is_known().then_some(hop.time),
        cpus: String::new(),
    });
    std::iter::once(first).chain(more).collect()
}

/// Frames of several lines.
fn frames(entries: &[nicety_model::LossEntry]) -> u64 {
    total(entries.iter().map(|entry| entry.frames))
}
