//! Where frames spend their time: the hops of every cell that was asked for them.

use nicety_model::fate::Way;
use nicety_model::hop::{HopReport, HopTime};
use nicety_model::{CellFate, LatencySummary};

use crate::document::{Block, Cell, Table, columns};
use crate::number;
use crate::pick::Group;
use crate::waterfall::words;

/// A table of hops for each cell that has them, and what to make of it; of more than `most` cells the others are
/// counted.
pub(crate) fn blocks(groups: &[Group<'_>], most: usize) -> Vec<Block> {
    let told: Vec<(String, &CellFate, &HopReport)> = groups
        .iter()
        .flat_map(|group| group.shown.fates.iter().map(move |fate| (group, fate)))
        .flat_map(|(group, fate)| {
            let named = move |(way, hops)| (name(group.name, way), fate, hops);
            reports(fate).map(named)
        })
        .collect();
    let mut blocks = Vec::new();
    for (name, fate, hops) in told.iter().take(most) {
        if hops.hops.is_empty() {
            blocks.push(Block::text(format!(
                "{name}: no sampled frame was seen from end to end."
            )));
            continue;
        }
        blocks.push(Block::Table(table(name, hops)));
        blocks.push(Block::text(sampled(fate, hops)));
    }
    if told.len() > most {
        let more = number::plural(told.len() - most, "more cell");
        blocks.push(Block::text(format!("The page tells of {more}.")));
    }
    blocks
}

/// What was seen in a trial, of each way where there are two.
fn reports(fate: &CellFate) -> impl Iterator<Item = (Option<Way>, &HopReport)> {
    let one = fate.report.hops.iter().map(|hops| (None, hops));
    let ways = fate.report.ways.iter();
    one.chain(ways.filter_map(|of| Some((Some(of.way), of.hops.as_ref()?))))
}

/// `bridge/64/bi, B to A`
fn name(cell: &str, way: Option<Way>) -> String {
    match way {
        Some(way) => format!("{cell}, {}", way.words()),
        None => cell.to_owned(),
    }
}

/// The hops in their order, and all of them together.
fn table(name: &str, hops: &HopReport) -> Table {
    let end = hops.hops.last().map(|hop| hop.to.as_str());
    let begin = hops.hops.first().map(|hop| hop.from.as_str());
    let whole = (begin.zip(end)).map(|(from, to)| (from, to, hops.end_to_end, ""));
    let lines: Vec<(&str, &str, Option<HopTime>, String)> = hops
        .hops
        .iter()
        .map(|hop| {
            let cpus = hop.cpus.iter().take(4).map(u32::to_string);
            let cpus = cpus.collect::<Vec<_>>().join(" ");
            let time = hop.is_known().then_some(hop.time);
            (hop.from.as_str(), hop.to.as_str(), time, cpus)
        })
        .chain(whole.map(|(from, to, time, cpus)| (from, to, Some(time), cpus.to_owned())))
        .collect();
    let us = |ns: u64| number::micros(ns as f64 / 1e3);
    // With fewer samples beyond it a percentile is the largest value, or close to it.
    let known = LatencySummary {
        samples: hops.frames,
        ..LatencySummary::default()
    };
    let beyond = |share: f64, ns: Option<u64>| match ns.filter(|_| known.knows(share)) {
        Some(ns) => Cell::from(us(ns)),
        None => Cell::absent(),
    };
    Table::of(
        format!("{name}, µs"),
        &lines,
        columns![|(from, to, time, cpus)|
            "from" Name: *from;
            "to" Name: *to;
            "mean" Number: time.map(|time| us(time.mean_ns));
            "p50" Number: time.map(|time| us(time.p50_ns));
            "p99" Number: beyond(0.01, time.map(|time| time.p99_ns));
            "p99.9" Number: beyond(0.001, time.map(|time| time.p999_ns));
            "max" Number: time.map(|time| us(time.max_ns));
            "CPU" Text: cpus;
        ],
    )
}

/// How many frames tell of it, whether it adds up, and what the programs add.
fn sampled(fate: &CellFate, hops: &HopReport) -> String {
    let mut text = format!(
        "{} sampled at {} frames/s. The hops of {} of these add up to the whole within 1 %.",
        number::plural(hops.frames, "frame"),
        number::short(fate.load_fps),
        number::count(hops.summed)
    );
    let left_out = hops.cut + hops.other_ways;
    if left_out > 0 {
        text += &format!(
            " Left out: {} not seen to arrive, {} on another way.",
            number::count(hops.cut),
            number::count(hops.other_ways)
        );
    }
    if hops.merged > 0 {
        text += &format!(
            " {} were inside merged ones (GRO): where these were singly is not known.",
            number::plural(hops.merged, "frame")
        );
    }
    let us = |ns: u64| number::micros(ns as f64 / 1e3);
    if let (Some(all), Some(plain)) = (hops.all_mean_ns, hops.plain_mean_ns) {
        text += &format!(
            " Mean with the programs: {} µs of sampled frames, {} µs of all; {} µs without the programs.",
            us(hops.end_to_end.mean_ns),
            us(all),
            us(plain)
        );
    }
    let crossing = words::crossing(&hops.hops.iter().collect::<Vec<_>>());
    for line in crossing {
        text += &format!(" {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use nicety_model::hop::Hop;
    use nicety_model::{FateOf, FateReport};

    use super::*;

    fn time(mean_ns: u64) -> HopTime {
        HopTime {
            mean_ns,
            p50_ns: mean_ns,
            p99_ns: 2 * mean_ns,
            p999_ns: 3 * mean_ns,
            max_ns: 4 * mean_ns,
        }
    }

    #[test]
    fn the_whole_stands_below_its_parts() {
        let hop = |from: &str, to: &str, mean_ns| Hop {
            from: from.to_owned(),
            to: to.to_owned(),
            cpus: vec![0, 1],
            time: time(mean_ns),
            error_ns: None,
        };
        let hops = HopReport {
            frames: 200,
            summed: 199,
            cut: 3,
            merged: 64,
            end_to_end: time(1500),
            all_mean_ns: Some(1400),
            plain_mean_ns: Some(1300),
            hops: vec![
                hop("sent at a", "received at d0", 500),
                hop("received at d0", "arrived at b", 1000),
            ],
            ..HopReport::default()
        };
        let table = table("cell", &hops);
        assert_eq!(table.rows.len(), 3);
        let last: Vec<&str> = table.rows[2]
            .iter()
            .map(|cell| cell.text.as_str())
            .collect();
        assert_eq!(&last[..3], ["sent at a", "arrived at b", "1.5"]);
        // 200 frames know no 99th percentile.
        assert!(table.rows[2][4].is_absent() && !table.rows[2][3].is_absent());
        let fate = CellFate {
            of: FateOf::Latency,
            load_fps: 100_000.0,
            duration_s: 0.5,
            sent: 50_000,
            lost: 0,
            ledger: Vec::new(),
            passage: None,
            report: FateReport::default(),
        };
        let said = sampled(&fate, &hops);
        for part in [
            "200 frames sampled",
            "hops of 199 of these",
            "3 not seen",
            "64 frames were inside merged ones (GRO)",
            "1.4 µs of all",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
