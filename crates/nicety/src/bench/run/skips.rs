//! Cells that cannot be built here: what a look at the machine rules out is said before anything
//! is measured, so that a time box does not leave it out unsaid; what shows only when a path is
//! built is said of all cells on that path at once.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::cell::SkippedCell;
use nicety_model::{CellKey, FrameSize};
use nicety_search::schedule::Schedule;

use super::Sitting;
use crate::bench::progress::Progress;
use crate::bench::setup::SetupError;
use crate::bench::signals::Signals;
use crate::exit::Failure;

/// Most paths looked at beforehand: with more, a look is no longer for free.
const LOOKED_AT: usize = 1000;

/// Why a cell has no result, and what to do.
type Why = (String, String);

/// The cells on one path, which differ in frames only; never empty.
type Point<'a> = Vec<(u32, &'a CellKey)>;

impl Sitting {
    /// Skips the cells that a look at this machine rules out.
    pub(super) fn rule_out(
        &mut self,
        schedule: &mut Schedule,
        progress: &Progress,
        signals: &Signals,
    ) -> Result<(), Failure> {
        let open = open_cells(schedule);
        let mut ruled_out: Vec<(u32, Why)> = Vec::new();
        let has_open = |point: &&Point| point.iter().any(|(cell, _)| open.contains(cell));
        for point in self.points().iter().filter(has_open).take(LOOKED_AT) {
            if signals.stopped() {
                break;
            }
            let sizes = point.iter().map(|(_, key)| key.frame_size_bytes);
            let why = by_size(&sizes.collect(), &|size| self.refused(point, size));
            let cells = point.iter().filter(|(cell, _)| open.contains(cell));
            ruled_out.extend(cells.filter_map(|(cell, key)| {
                let why = why.get(&key.frame_size_bytes)?;
                Some((*cell, why.clone()))
            }));
        }
        if ruled_out.is_empty() {
            return Ok(());
        }
        for (cell, why) in ruled_out {
            self.skip(cell, why, schedule, progress);
        }
        self.save()
    }

    /// The cells of every point of the matrix; they stand together in the plan.
    fn points(&self) -> Vec<Point<'_>> {
        let cells: Vec<(u32, &CellKey)> = (0u32..).zip(&self.cells).collect();
        let points = cells.chunk_by(|(_, one), (_, next)| one.path == next.path);
        points.map(<[_]>::to_vec).collect()
    }

    /// What a look at this machine has against frames of one size on a path.
    fn refused(&self, point: &Point<'_>, size: FrameSize) -> Option<SetupError> {
        let key = CellKey {
            frame_size_bytes: size,
            ..point[0].1.clone()
        };
        let path = self.paths.check(&key, &self.machine.placement);
        let checked = path.and_then(|()| self.engines.check(&key.path));
        checked.err().filter(SetupError::rules_out)
    }

    /// A cell's path could not be had. The other cells on it are skipped with it where they would
    /// meet the same; not where the path has been there before, because then something else is
    /// the matter.
    pub(super) fn skip_with_path(
        &mut self,
        cell: u32,
        error: &SetupError,
        schedule: &mut Schedule,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let path = self.cells.get(cell as usize).map(|key| key.path.clone());
        let was_there = |key: &&CellKey| {
            let name = key.name();
            self.results.iter().any(|result| result.cell == name)
        };
        let of_path = || {
            self.cells
                .iter()
                .filter(|key| Some(&key.path) == path.as_ref())
        };
        let alone = !error.lasts() || of_path().any(|key| was_there(&key));
        let open = open_cells(schedule);
        let same = |number: &u32| {
            let key = self.cells.get(*number as usize);
            *number == cell || (!alone && key.map(|key| &key.path) == path.as_ref())
        };
        let cells: Vec<u32> = open.into_iter().filter(same).collect();
        for cell in cells {
            let why = (error.to_string(), error.remedy());
            self.skip(cell, why, schedule, progress);
        }
        self.save()
    }

    fn skip(
        &mut self,
        cell: u32,
        (reason, remedy): Why,
        schedule: &mut Schedule,
        progress: &Progress,
    ) {
        let Some(key) = self.cells.get(cell as usize) else {
            return;
        };
        let name = key.name();
        progress.skipped(&name, &reason);
        self.meta.skipped.push(SkippedCell {
            cell: name,
            reason,
            remedy,
        });
        schedule.skip(cell);
    }
}

/// Cells that have something left to do.
fn open_cells(schedule: &Schedule) -> BTreeSet<u32> {
    schedule.left_out().map(|task| task.cell).collect()
}

/// The frame sizes that are ruled out. What refuses the smallest and is not the size's fault
/// refuses all; where the largest is carried, all are.
fn by_size(
    sizes: &BTreeSet<FrameSize>,
    refused: &dyn Fn(FrameSize) -> Option<SetupError>,
) -> BTreeMap<FrameSize, Why> {
    let words = |error: &SetupError| (error.to_string(), error.remedy());
    let (Some(smallest), Some(largest)) = (sizes.first(), sizes.last()) else {
        return BTreeMap::new();
    };
    match refused(*smallest) {
        Some(error) if error.lasts() => {
            let all = sizes.iter().map(|size| (*size, words(&error)));
            return all.collect();
        }
        None if smallest == largest || refused(*largest).is_none() => return BTreeMap::new(),
        _ => {}
    }
    let each = sizes.iter();
    each.filter_map(|size| Some((*size, words(&refused(*size)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use nicety_paths::PathError;

    use super::*;

    fn sizes(list: &[u16]) -> BTreeSet<FrameSize> {
        list.iter()
            .map(|size| FrameSize::new(*size).unwrap())
            .collect()
    }

    #[test]
    fn what_refuses_one_size_refuses_all_or_the_larger_ones() {
        let all = sizes(&[64, 1518, 9018]);
        let missing = |_| {
            Some(SetupError::Path(PathError::NotInstalled {
                program: "dpdk-testpmd",
                package: "dpdk-dev",
            }))
        };
        assert_eq!(by_size(&all, &missing).len(), 3);
        let jumbo = |size: FrameSize| {
            (size.bytes() > 1518).then(|| {
                SetupError::Path(PathError::FrameTooLarge {
                    what: "DPDK's socket drivers",
                    frame_size: size.bytes(),
                    largest: 1518,
                })
            })
        };
        let refused = by_size(&all, &jumbo);
        assert_eq!(
            refused.keys().copied().collect::<BTreeSet<_>>(),
            sizes(&[9018])
        );
        assert!(by_size(&sizes(&[64, 1518]), &jumbo).is_empty());
        assert!(by_size(&all, &|_| None).is_empty());
    }
}
