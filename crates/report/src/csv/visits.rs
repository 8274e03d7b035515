//! Columns of runs that are measured in visits and judged over windows.

use std::collections::HashMap;

use nicety_model::{CellResult, Run};

use crate::document::csv::{number, text};
use crate::pick::{self, Group};

/// The first seven are the cell's, the same in all its rows; the others are those of the visit.
const NAMES: [&str; 14] = [
    "cell_verdict",
    "estimate_fps",
    "low_fps",
    "high_fps",
    "confidence",
    "visits",
    "cell_capacity_fps",
    "visit_low_fps",
    "visit_high_fps",
    "capacity_fps",
    "window_s",
    "confirm_lost",
    "confirm_lost_in_stalls",
    "confirm_bad_windows",
];

/// The columns of a run; none where nothing in it has a value for them.
pub(super) struct Visits<'a>(Option<HashMap<&'a str, Group<'a>>>);

impl<'a> Visits<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let groups = pick::groups(run);
        let known = groups.iter().any(|group| group.estimate().is_some())
            || run.cells.iter().any(|cell| cell.window_s.is_some());
        Self(known.then(|| groups.into_iter().map(|g| (g.name, g)).collect()))
    }

    /// Names of the columns.
    pub(super) fn header(&self) -> impl Iterator<Item = String> {
        let names = self.0.iter().flat_map(|_| NAMES);
        names.map(str::to_owned)
    }

    /// Their fields in the row of a visit. Visits of the control cell are no part of the number.
    pub(super) fn fields(&self, cell: &CellResult) -> Vec<String> {
        let Some(groups) = &self.0 else {
            return Vec::new();
        };
        let group = groups.get(&*cell.cell).filter(|_| cell.control.is_none());
        let estimate = group.and_then(Group::estimate);
        let confirm = cell.confirm.as_ref();
        vec![
            text(group.map(Group::verdict)),
            number(estimate.map(|e| e.fps)),
            number(estimate.map(|e| e.low_fps)),
            number(estimate.map(|e| e.high_fps)),
            number(estimate.and_then(|e| e.confidence)),
            text(estimate.map(|e| e.visits)),
            number(group.and_then(Group::capacity_fps)),
            number(cell.estimate.map(|e| e.low_fps)),
            number(cell.estimate.map(|e| e.high_fps)),
            number(cell.capacity_fps),
            number(cell.window_s),
            text(confirm.and_then(|c| c.lost)),
            text(confirm.and_then(|c| c.lost_in_stalls)),
            number(confirm.and_then(|c| c.bad_windows)),
        ]
    }
}
