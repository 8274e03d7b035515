//! A matrix of cells as a heat map: paths against frame sizes.

use std::collections::BTreeMap;

use nicety_model::{Direction, FrameSize};

use crate::confidence::{self, Confidence};
use crate::document::Kind::{Name, Number};
use crate::document::{Cell, Medium, Table};
use crate::number;
use crate::pick::{self, Group};
use crate::ranking;

/// Shades of the style sheet, the palest first.
const SHADES: usize = 6;
/// Most rows on a page: more are not looked at, they are searched in the table.
const ROWS: usize = 120;

/// The map; nothing for less than two paths or sizes, which a figure shows better.
pub(super) fn map(groups: &[Group<'_>], medium: Medium) -> Option<Table> {
    let (mut series, sizes) = (pick::series(groups), ranking::sizes(groups));
    // A mix has no frame size.
    series.retain(|(_, cells)| cells.iter().all(|group| group.key.shape.imix.is_none()));
    if series.len() < 2 || sizes.len() < 2 {
        return None;
    }
    let best = best(groups);
    let drawn = match medium {
        Medium::Page => ROWS,
        _ => series.len(),
    };
    let mut head = vec![("path".to_owned(), Name)];
    head.extend(sizes.iter().map(|size| (format!("{size} bytes"), Number)));
    let caption = "Paths against frame sizes, in frames/s / Mbit/s (L1) per direction";
    let mut table = Table::new(caption, head);
    for (key, cells) in series.iter().take(drawn) {
        let mut row = vec![Cell::from(key.to_string())];
        row.extend(sizes.iter().map(|size| {
            let best = best.get(&(key.direction, key.flows, *size, key.traffic.clone()));
            let best = best.copied();
            let cell = cells.iter().find(|g| g.key.frame_size_bytes == *size);
            square(cell.copied(), best.unwrap_or(0.0))
        }));
        table.push(row);
    }
    let shades = "The darker, the nearer to the fastest path with frames of that size, in that \
                  direction and with as many flows (100 %). ";
    let shades = if medium == Medium::Page { shades } else { "" };
    let more = match series.len().saturating_sub(drawn) {
        0 => String::new(),
        more => format!(" {} in the table only.", number::plural(more, "more path")),
    };
    Some(table.legend(format!("{shades}{}{more}", confidence::LEGEND)))
}

/// The fastest of every direction, number of flows and frame size: only these compare.
fn best(groups: &[Group<'_>]) -> BTreeMap<(Direction, u32, FrameSize, String), f64> {
    let mut best = BTreeMap::new();
    for group in groups {
        let key = (
            group.key.direction,
            group.key.flows,
            group.key.frame_size_bytes,
            group.key.traffic_words(),
        );
        let most: &mut f64 = best.entry(key).or_default();
        *most = most.max(group.throughput_fps().unwrap_or(0.0));
    }
    best
}

/// A cell of a map: its throughput, the same in bits, and its share of the best.
pub(super) fn square(group: Option<&Group<'_>>, best: f64) -> Cell {
    let Some((group, fps)) = group.and_then(|group| Some((group, group.throughput_fps()?))) else {
        return Cell::absent();
    };
    let share = if best > 0.0 { fps / best } else { 0.0 };
    let mbps = number::mbps(group.told_mbps());
    Cell::from(format!("{} / {mbps}", group.fps_text()))
        .by(Some(fps))
        .marked(&Confidence::of(group))
        .on_page(group.fps_text())
        .details([format!("{mbps} Mbit/s"), number::share(share)])
        .shade(shade(share))
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
        let style = include_str!("../document/page.css");
        for shade in 0..SHADES {
            assert!(style.contains(&format!(".heat{shade}{{")), "{shade}");
        }
    }
}
