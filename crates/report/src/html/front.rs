//! The first screen: the answer in words, one picture, key figures.

use maud::{Markup, html};
use nicety_model::{Run, Verdict};

use super::parts::badge;
use crate::number;
use crate::pick::{self, Group};
use crate::words;

/// Title, the answer in words and how far to trust it.
pub fn head(run: &Run, groups: &[Group<'_>]) -> Markup {
    let head = &run.run;
    let sentences = words::summary(run);
    html! {
        header {
            p.eyebrow {
                "nicety bench · " time datetime=(head.started) { (head.started.replace('T', " ")) }
                @if !head.host.cpu_model.is_empty() {
                    " · " (head.host.cpu_model) ", " (words::plural(head.host.cpus as usize, "CPU"))
                }
                @if !head.host.kernel.is_empty() { " · Linux " (head.host.kernel) }
            }
            h1 { (head.name) }
            @for (n, sentence) in sentences.iter().enumerate() {
                p class=(if n == 0 { "lead" } else { "lead second" }) { (capital(sentence)) "." }
            }
            (worth(run, groups))
        }
    }
}

fn capital(sentence: &str) -> String {
    // Only nicety's own first words; the name of a path keeps its letters.
    for (small, large) in [
        ("nothing ", "Nothing "),
        ("no ", "No "),
        ("only ", "Only "),
        ("the one ", "The one "),
    ] {
        if let Some(rest) = sentence.strip_prefix(small) {
            return format!("{large}{rest}");
        }
    }
    sentence.to_owned()
}

fn worth(run: &Run, groups: &[Group<'_>]) -> Markup {
    html! {
        p.worth {
            @for (verdict, cells) in pick::verdicts(groups) {
                span.pair { (cells) " " (badge(verdict)) }
            }
            @if !run.skipped.is_empty() {
                a href="#missing" { (run.skipped.len()) " skipped" }
            }
            @if !run.left_out.is_empty() {
                a href="#missing" { (run.left_out.len()) " left out" }
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
    verdict: Verdict,
}

/// Key figures of the first path, each with the verdict of its cell.
pub fn tiles(groups: &[Group<'_>]) -> Markup {
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
    let tiles = figures(&measured);
    html! {
        section.tiles aria-label={ "Key figures of " (key) } {
            h2.tiles-h { "Key figures: " (key) }
            dl {
                @for tile in &tiles {
                    div.tile {
                        dt { (tile.title) }
                        dd {
                            span.value { (tile.value) } " " span.unit { (tile.unit) }
                            span.detail { (tile.detail) " " (badge(tile.verdict)) }
                        }
                    }
                }
            }
        }
    }
}

fn figures(measured: &[&Group<'_>]) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let Some((first, last)) = measured.first().zip(measured.last()) else {
        return tiles;
    };
    if let Some(fps) = first.throughput_fps() {
        tiles.push(Tile {
            title: "Throughput, smallest frames".to_owned(),
            value: number::short(fps),
            unit: "frames/s",
            detail: format!("{} bytes", first.key.frame_size_bytes),
            verdict: first.verdict(),
        });
    }
    if let Some(rate) = last.l1_mbps() {
        let text = number::bit_rate(rate);
        let (value, unit) = match text.strip_suffix(" Gbit/s") {
            Some(value) => (value.to_owned(), "Gbit/s"),
            None => (text.replace(" Mbit/s", ""), "Mbit/s"),
        };
        tiles.push(Tile {
            title: "On the wire, largest frames".to_owned(),
            value,
            unit,
            detail: format!("{} bytes, L1", last.key.frame_size_bytes),
            verdict: last.verdict(),
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
                "median {} µs{load}, {} bytes",
                number::micros(latency.p50),
                first.key.frame_size_bytes
            ),
            verdict: first.verdict(),
        });
    }
    if let Some(busiest) = first.shown.cpu.as_ref().and_then(|c| c.busiest.as_ref()) {
        tiles.push(Tile {
            title: "Busiest CPU".to_owned(),
            value: number::share(busiest.busy_ratio).replace(" %", ""),
            unit: "%",
            detail: match first.shown.cpu.as_ref().and_then(|c| c.polls_on_busiest()) {
                Some(thread) => format!(
                    "CPU {}, {}, {}",
                    busiest.cpu,
                    thread.who,
                    crate::threads::polls(thread)
                ),
                None => format!(
                    "CPU {}, {}",
                    busiest.cpu,
                    crate::threads::greatest_user(busiest)
                ),
            },
            verdict: first.verdict(),
        });
    }
    tiles
}
