//! A matrix of cells as a heat map: paths against frame sizes.

use maud::{Markup, html};
use nicety_model::{FrameSize, Verdict};

use super::parts;
use crate::number::{self, ABSENT};
use crate::pick::{self, Group};

/// Shades of the style sheet, the palest first.
const SHADES: usize = 6;
/// Most rows that are drawn: more are not looked at, they are searched in the table.
const ROWS: usize = 120;

/// The map; nothing for less than two paths or sizes, which the figure above shows better.
pub fn map(groups: &[Group<'_>]) -> Option<Markup> {
    let series = pick::series(groups);
    let mut sizes: Vec<FrameSize> = groups.iter().map(|g| g.key.frame_size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if series.len() < 2 || sizes.len() < 2 {
        return None;
    }
    let best: Vec<f64> = sizes.iter().map(|size| best(groups, *size)).collect();
    let more = series.len().saturating_sub(ROWS);
    Some(html! {
        (parts::table(
            "Paths against frame sizes, in frames/s",
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
                        @for (size, best) in sizes.iter().zip(&best) {
                            (square(cells.iter().find(|g| g.key.frame_size_bytes == *size), *best))
                        }
                    }
                }
            },
        ))
        p.muted {
            "The darker, the nearer to the fastest path with frames of that size (100 %). An asterisk "
            "marks a verdict other than ok."
            @if more > 0 { " " (crate::words::plural(more, "more path")) " in the table only." }
        }
    })
}

fn best(groups: &[Group<'_>], size: FrameSize) -> f64 {
    groups
        .iter()
        .filter(|group| group.key.frame_size_bytes == size)
        .filter_map(Group::throughput_fps)
        .fold(0.0, f64::max)
}

/// A cell of a map: its throughput, and its share of the best.
pub fn square(group: Option<&&Group<'_>>, best: f64) -> Markup {
    let found = group.and_then(|group| Some((group, group.throughput_fps()?)));
    let Some((group, fps)) = found else {
        return html! { td.num { (ABSENT) } };
    };
    let share = if best > 0.0 { fps / best } else { 0.0 };
    let doubtful = group.verdict() != Verdict::Ok;
    html! {
        td class={ "num heat" (shade(share)) } data-v=(parts::sorted_by(fps)) {
            (number::short(fps)) @if doubtful { abbr title=(group.verdict().meaning()) { "*" } }
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
