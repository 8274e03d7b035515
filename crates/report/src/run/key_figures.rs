//! The first screen of a page: how far to trust the answer, and key figures.

use std::cmp::Ordering;

use maud::{Markup, html};
use nicety_model::Run;

use crate::document::html::badge;
use crate::number;
use crate::pick::{self, Group};
use crate::threads;

/// What the numbers are worth, what is missing, and how they were measured.
pub(super) fn worth(run: &Run, groups: &[Group<'_>]) -> Markup {
    html! {
        p.worth {
            // One result has its verdict beside its number.
            @if groups.len() > 1 {
                @for (verdict, cells) in pick::verdicts(groups) {
                    span.pair { (cells) " " (badge(verdict)) }
                }
            }
            @if !run.skipped.is_empty() {
                a href="#missing" { (run.skipped.len()) " skipped" }
            }
            @if !run.left_out.is_empty() {
                a href="#left-out" { (run.left_out.len()) " left out" }
            }
            @if !run.run.complete { span.badge.warn { "not complete" } }
            span.muted {
                @if run.sockets.is_empty() || !groups.is_empty() {
                    "preset " (run.run.preset) ", loss goal " (number::loss(run.run.loss_goal)) ", "
                }
                "measured in " (number::seconds(run.run.elapsed_s))
            }
        }
    }
}

struct Tile {
    title: String,
    value: String,
    unit: &'static str,
    detail: String,
}

/// Key figures of the first path, beside the number that the report begins with.
pub(super) fn tiles(groups: &[Group<'_>]) -> Markup {
    let series = pick::series(groups);
    let Some((key, cells)) = series
        .iter()
        .find(|(_, cells)| cells.iter().any(|g| g.throughput_fps().is_some()))
    else {
        return html! {};
    };
    let measured: Vec<&Group<'_>> = cells
        .iter()
        .copied()
        .filter(|g| g.throughput_fps().is_some())
        .collect();
    let tiles = figures(&measured, cells);
    if tiles.is_empty() {
        return html! {};
    }
    html! {
        section.tiles aria-label={ "Key figures of " (key) } {
            h2.tiles-h { "Key figures: " (key) }
            dl {
                @for tile in &tiles {
                    div.tile {
                        dt { (tile.title) }
                        dd {
                            span.value { (tile.value) } " " span.unit { (tile.unit) }
                            span.detail { (tile.detail) }
                        }
                    }
                }
            }
        }
    }
}

/// `Throughput, smallest frames`, where the cell has the smallest of several sizes (`end`); else
/// its size.
fn title(what: &str, of: &Group<'_>, cells: &[&Group<'_>], end: Ordering) -> String {
    let key = of.key;
    let (is_end, word) = match end {
        Ordering::Less => (cells.first(), "smallest"),
        _ => (cells.last(), "largest"),
    };
    let is_end = is_end.is_some_and(|cell| cell.key.size_name() == key.size_name());
    if is_end && cells.len() > 1 {
        format!("{what}, {word} frames")
    } else {
        format!("{what}, {}", key.size_words())
    }
}

/// Of the cells of a path that have a number, out of all its `cells` in order of size.
fn figures(measured: &[&Group<'_>], cells: &[&Group<'_>]) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let Some((first, last)) = measured.first().zip(measured.last()) else {
        return tiles;
    };
    if let Some(capacity) = first.capacity_fps() {
        tiles.push(Tile {
            title: "Capacity under overload".to_owned(),
            value: number::short(capacity),
            unit: "frames/s",
            detail: first.key.size_words(),
        });
    }
    if let Some(rate) = last.told_mbps() {
        let text = number::bit_rate(rate);
        let (value, unit) = match text.strip_suffix(" Gbit/s") {
            Some(value) => (value.to_owned(), "Gbit/s"),
            None => (text.replace(" Mbit/s", ""), "Mbit/s"),
        };
        tiles.push(Tile {
            title: title("On the wire", last, cells, Ordering::Greater),
            value,
            unit,
            detail: format!("{}, L1", last.key.size_words()),
        });
    }
    if let Some(latency) = first.latency() {
        let load = latency.load_ratio.map_or_else(String::new, |ratio| {
            format!(" at {} load", number::share(ratio))
        });
        tiles.push(Tile {
            title: "Latency, 99th percentile".to_owned(),
            value: number::micros(latency.p99),
            unit: "µs",
            detail: format!(
                "median {} µs{load}, {}",
                number::micros(latency.p50),
                first.key.size_words()
            ),
        });
    }
    if let Some(busiest) = first.shown.cpu.as_ref().and_then(|c| c.busiest.as_ref()) {
        tiles.push(Tile {
            title: "Busiest CPU".to_owned(),
            value: number::share(busiest.busy_ratio).replace(" %", ""),
            unit: "%",
            detail: match first.shown.cpu.as_ref().and_then(|c| c.polls_on_busiest()) {
                Some(by) => format!("CPU {}, {}, {}", busiest.cpu, by.who, threads::polls(by)),
                None => format!("CPU {}, {}", busiest.cpu, threads::greatest_user(busiest)),
            },
        });
    }
    tiles
}
