//! Cells that cannot be built here: what a look at the machine rules out is said before anything
//! is measured, so that a time box does not leave it out unsaid; what shows only when a path is
//! built is said of all cells on that path at once.

use std::collections::BTreeSet;

use nicety_model::CellKey;
use nicety_search::schedule::Schedule;
use nicety_search::skip::{self, Refused};

use super::Session;
use crate::error::RunError;
use crate::event::{Event, Observer};
use crate::setup_error::SetupError;

/// Most paths looked at beforehand: with more, a look is no longer for free.
const LOOKED_AT: usize = 1000;

impl Session {
    /// Skips the cells that a look at this machine rules out.
    pub(super) fn rule_out(
        &mut self,
        schedule: &mut Schedule,
        observer: &dyn Observer,
    ) -> Result<(), RunError> {
        let open = open_cells(schedule);
        let points = skip::points(&self.record.cells).filter(|point| point.has_any(&open));
        let looked_at = points
            .take(LOOKED_AT)
            .take_while(|_| !self.bench.stop.is_set());
        let ruled_out: Vec<(u32, Refused)> = looked_at
            .flat_map(|point| point.rule_out(&open, |key| self.look(key)))
            .collect();
        if ruled_out.is_empty() {
            return Ok(());
        }
        // Each reason once, with all the cells that it rules out.
        let mut by_reason: Vec<(Refused, Vec<u32>)> = Vec::new();
        for (cell, refused) in ruled_out {
            match by_reason.iter_mut().find(|(known, _)| *known == refused) {
                Some((_, cells)) => cells.push(cell),
                None => by_reason.push((refused, vec![cell])),
            }
        }
        for (refused, cells) in by_reason {
            self.skip(cells, &refused, schedule, observer);
        }
        self.record.save(self.clock)
    }

    /// What a look at this machine has against a cell.
    fn look(&self, key: &CellKey) -> Option<Refused> {
        let bench = &self.bench;
        let path = bench.paths.check(key, &bench.machine.placement);
        let error = path.and_then(|()| bench.engines.check(key)).err()?;
        error.rules_out().then(|| refused(&error))
    }

    /// A cell's path could not be had: it is skipped, and others with it.
    pub(super) fn skip_with_path(
        &mut self,
        cell: u32,
        error: &SetupError,
        schedule: &mut Schedule,
        observer: &dyn Observer,
    ) -> Result<(), RunError> {
        let refused = refused(error);
        let (cells, results) = (&self.record.cells, &self.record.results);
        let open = open_cells(schedule);
        let cells = skip::with_path(cells, results, open, cell, refused.lasts);
        self.skip(cells, &refused, schedule, observer);
        self.record.save(self.clock)
    }

    /// Skips these cells for one reason.
    fn skip(
        &mut self,
        cells: impl IntoIterator<Item = u32>,
        refused: &Refused,
        schedule: &mut Schedule,
        observer: &dyn Observer,
    ) {
        let mut names = Vec::new();
        for cell in cells {
            let Some(key) = self.record.cells.get(cell as usize) else {
                continue;
            };
            let name = key.name();
            names.push(name.clone());
            self.record.skip(name, refused.problem.clone());
            schedule.skip(cell);
        }
        observer.on(Event::Skipped {
            cells: &names,
            reason: &refused.problem.what,
        });
    }
}

/// Cells that have something left to do.
fn open_cells(schedule: &Schedule) -> BTreeSet<u32> {
    schedule.left_out().map(|task| task.cell).collect()
}

fn refused(error: &SetupError) -> Refused {
    Refused {
        problem: error.problem(),
        lasts: error.lasts(),
    }
}
