//! Tables of the grids in Markdown.

use super::{escape, line, record};
use crate::grid::{self, Grid};
use crate::pick::Group;

/// Rankings, paths by frame size, and directions, where a run has any.
pub(super) fn all(page: &mut String, groups: &[Group<'_>]) {
    let rankings = grid::rankings(groups);
    let sizes = grid::by_size(groups);
    // Directions by frame size are long: the HTML report has them.
    let directions = grid::directions(groups).into_iter().take(1);
    for grid in rankings.into_iter().chain(sizes).chain(directions) {
        table(page, &grid);
    }
}

fn table(page: &mut String, grid: &Grid) {
    line(page, &format!("## {}\n", escape(&grid.caption)));
    line(
        page,
        &record(grid.head.iter().map(|(text, _)| escape(text))),
    );
    let sides = grid.head.iter().map(|(_, number)| super::side(*number));
    line(page, &record(sides.map(str::to_owned)));
    for row in &grid.rows {
        line(page, &record(row.iter().map(|field| escape(&field.text()))));
    }
    line(page, &format!("\n{}\n", escape(&grid.legend)));
}
