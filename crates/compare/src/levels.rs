//! The levels of a cell over the runs of a history.

use nicety_model::history::{TrendChange, TrendPoint};
use nicety_model::note::CompareNote;
use nicety_model::{Note, Run};

use crate::differences;
use crate::trend::{Change, SHORTEST, changes};

/// Chance of a change where there is none.
const LEVEL: f64 = 0.05;

/// Where the numbers change, oldest first; only those with a verdict of their own count. `read` gets runs
/// by their number: the last of a level and the first of the next are asked what differs.
///
/// # Errors
/// Those of `read`.
pub fn levels<E>(
    points: &[TrendPoint],
    mut read: impl FnMut(i64) -> Result<Run, E>,
) -> Result<Vec<TrendChange>, E> {
    let mut all = Vec::new();
    for (last, mut change) in found(points) {
        change.differences = differences(&[&read(last)?], &[&read(change.id)?]);
        all.push(change);
    }
    Ok(all)
}

/// The same changes, without what differs between the runs.
pub fn marks(points: &[TrendPoint]) -> Vec<TrendChange> {
    found(points)
        .into_iter()
        .map(|(_, change)| change)
        .collect()
}

/// Each change with the number of the last run before it.
fn found(points: &[TrendPoint]) -> Vec<(i64, TrendChange)> {
    let trusted: Vec<(&TrendPoint, f64)> = points
        .iter()
        .filter(|point| point.verdict.is_own())
        .filter_map(|point| Some((point, point.value?.ln())))
        .filter(|(_, log)| log.is_finite())
        .collect();
    let logs: Vec<f64> = trusted.iter().map(|(_, log)| *log).collect();
    let found = changes(&logs, LEVEL);
    let ends = found.iter().skip(1).map(|c| c.at).chain([logs.len()]);
    let mut from = 0;
    let mut all = Vec::new();
    for (Change { at, p }, to) in found.iter().copied().zip(ends) {
        let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        let (before, after) = (mean(&logs[from..at]), mean(&logs[at..to]));
        let first = trusted[at].0;
        let change = TrendChange {
            id: first.id,
            started: first.started.clone(),
            before: before.exp(),
            after: after.exp(),
            ratio: (after - before).exp(),
            p,
            differences: Vec::new(),
        };
        all.push((trusted[at - 1].0.id, change));
        from = at;
    }
    all
}

/// What a reader of a trend should know; `left_out` runs searched for something else.
pub fn notes(points: &[TrendPoint], left_out: usize) -> Vec<Note> {
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(CompareNote::OthersLeftOut { runs: left_out });
    }
    let ok = points.iter().filter(|point| point.verdict.is_own()).count();
    // Below this no order of the numbers is rare enough: 2 * 4! * 4! / 8! = 0.03.
    let needed = 2 * SHORTEST + 2;
    if ok < needed {
        notes.push(CompareNote::FewRuns { runs: ok, needed });
    }
    notes.into_iter().map(Note::from).collect()
}
