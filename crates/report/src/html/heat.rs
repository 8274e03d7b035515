//! A matrix of cells as a heat map: paths against frame sizes.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::{Direction, FrameSize, Verdict};

use super::parts;
use crate::number::{self, ABSENT};
use crate::pick::{self, Group};
use crate::ranking;

/// Shades of the style sheet, the palest first.
const SHADES: usize = 6;
/// Most rows that are drawn: more are not looked at, they are searched in the table.
const ROWS: usize = 120;

/// The map; nothing for less than two paths or sizes, which the figure above shows better.
pub fn map(groups: &[Group<'_>]) -> Option<Markup> {
    let series = pick::series(groups);
    let sizes = ranking::sizes(groups);
    if series.len() < 2 || sizes.len() < 2 {
        return None;
    }
    let best = best(groups);
    let more = series.len().saturating_sub(ROWS);
    Some(html! {
        (parts::table(
            "Paths against frame sizes, in frames/s and Mbit/s (L1) per direction",
            html! {
                tr {
                    th scope="col" { "path" }
                    @for size in &sizes { th.num scope="col" { (size) } }
                }
            },
            html! {
                @for (key, cells) in series.iter().take(ROWS) {
                    tr {
                        th scope="row" { (key) }
                        @for size in &sizes {
                            @let best = best.get(&(key.direction, key.flows, *size)).copied();
                            (square(cells.iter().find(|g| g.key.frame_size_bytes == *size), best.unwrap_or(0.0)))
                        }
                    }
                }
            },
        ))
        p.muted {
            "The darker, the nearer to the fastest path with frames of that size, in that direction and with as many "
            "flows (100 %). An asterisk marks a verdict other than ok."
            @if more > 0 { " " (crate::words::plural(more, "more path")) " in the table only." }
        }
    })
}

/// The fastest of every direction, number of flows and frame size: only these compare.
fn best(groups: &[Group<'_>]) -> BTreeMap<(Direction, u32, FrameSize), f64> {
    let mut best = BTreeMap::new();
    for group in groups {
        let key = (
            group.key.direction,
            group.key.flows,
            group.key.frame_size_bytes,
        );
        let most: &mut f64 = best.entry(key).or_default();
        *most = most.max(group.throughput_fps().unwrap_or(0.0));
    }
    best
}

/// A cell of a map: its throughput, the same in bits, and its share of the best.
pub fn square(group: Option<&&Group<'_>>, best: f64) -> Markup {
    let found = group.and_then(|group| Some((group, group.throughput_fps()?)));
    let Some((group, fps)) = found else {
        return html! { td.num { (ABSENT) } };
    };
    let share = if best > 0.0 { fps / best } else { 0.0 };
    let doubtful = group.verdict() != Verdict::Ok;
    html! {
        td class={ "num heat" (shade(share)) } data-v=(parts::sorted_by(fps)) {
            (group.short_text()) @if doubtful { abbr title=(group.verdict().meaning()) { "*" } }
            span.sub { (number::mbps(group.told_mbps())) " Mbit/s" }
            span.sub { (number::share(share)) }
        }
    }
}

/// The shade of a share of the fastest.
fn shade(share: f64) -> usize {
    ((share.clamp(0.0, 1.0) * SHADES as f64) as usize).min(SHADES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_those_of_the_style_sheet() {
        assert_eq!(
            [0.0, 0.17, 0.5, 0.99, 1.0, f64::NAN].map(shade),
            [0, 1, 3, 5, 5, 0]
        );
        let style = include_str!("page.css");
        for shade in 0..SHADES {
            assert!(style.contains(&format!(".heat{shade}{{")), "{shade}");
        }
    }
}
