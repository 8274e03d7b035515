//! Combines the repeats of a cell, and computes the control cell's drift.

use std::collections::HashMap;

use nicety_model::note::SearchNote;
use nicety_model::run::{CellSummary, ControlSummary};
use nicety_model::{CellResult, GoalSummary, Verdict, cell};

use crate::stats::spread;
use crate::visits;

/// Drift of the control cell from which a run is called noisy.
pub const DRIFT_LIMIT: f64 = 0.05;

/// The [results](cell::results); visits of the control cell among them say what they are.
pub fn results(cells: &[CellResult]) -> Vec<CellResult> {
    let mut results: Vec<CellResult> = cell::results(cells).cloned().collect();
    let visits = results.iter_mut().filter(|cell| cell.control.is_some());
    visits.for_each(|cell| cell.notes.push(SearchNote::StandIn.into()));
    results
}

/// One summary per cell that has [`results`], in the order of `plan` (cell names).
pub fn summarise<'a>(
    plan: impl IntoIterator<Item = &'a str>,
    cells: &[CellResult],
) -> Vec<CellSummary> {
    let mut by_name: HashMap<&str, Vec<&CellResult>> = HashMap::new();
    for cell in cells {
        by_name.entry(&cell.cell).or_default().push(cell);
    }
    plan.into_iter()
        .filter_map(|name| {
            // Taken out, so that a name listed twice gives one summary.
            let repeats = by_name.remove(name)?;
            Some(CellSummary {
                goals: by_goal(&repeats),
                ..summary(name, &repeats)
            })
        })
        .collect()
}

/// Summary of a cell's repeats.
fn summary(name: &str, repeats: &[&CellResult]) -> CellSummary {
    let values: Vec<f64> = repeats
        .iter()
        .filter_map(|cell| cell.throughput_fps)
        .collect();
    let together = visits::together(repeats);
    // Runs older than intervals have none, and those of whole trials keep the worst verdict.
    let has_interval = repeats.iter().any(|cell| cell.estimate.is_some());
    let by_windows = repeats.iter().any(|cell| cell.window_s.is_some());
    let worst = || {
        let verdicts = repeats.iter().map(|cell| cell.verdict);
        verdicts.fold(Verdict::Ok, Verdict::worse)
    };
    let estimate = together.estimate.filter(|_| has_interval);
    let spread_fps = spread(&values);
    let average = spread_fps.map(|spread| spread.ave);
    CellSummary {
        cell: name.to_owned(),
        throughput_fps: estimate
            .map(|estimate| estimate.fps)
            .or(together.bound_fps)
            .or(average),
        spread_fps,
        estimate,
        capacity_fps: together.capacity_fps,
        disturbance: together.disturbance,
        verdict: if by_windows {
            together.verdict
        } else {
            worst()
        },
        why: if by_windows { together.why } else { Vec::new() },
        goals: Vec::new(),
    }
}

/// The same for each of several goals, in the order of the plan.
fn by_goal(repeats: &[&CellResult]) -> Vec<GoalSummary> {
    let goals = repeats.iter().map(|cell| cell.goals.len()).max();
    let of = |number: usize| {
        let goals = repeats.iter().map(|cell| cell.of_goal(number));
        let goals: Vec<CellResult> = goals.collect::<Option<_>>()?;
        let all: Vec<&CellResult> = goals.iter().collect();
        let named = repeats.first()?.goals.get(number)?;
        let summary = summary(&named.goal, &all);
        Some(GoalSummary {
            goal: named.goal.clone(),
            loss_goal: named.loss_goal,
            throughput_fps: summary.throughput_fps,
            spread_fps: summary.spread_fps,
            estimate: summary.estimate,
            verdict: summary.verdict,
            why: summary.why,
        })
    };
    (0..goals.unwrap_or(0)).filter_map(of).collect()
}

/// The control cell's throughput over the run: its own repeats and its further visits, in the
/// order measured. `None` with fewer than two values.
pub fn control(name: &str, cells: &[CellResult], drift_limit: f64) -> Option<ControlSummary> {
    let visits: Vec<Option<f64>> = cells
        .iter()
        .filter(|cell| cell.cell == name)
        .map(|cell| cell.throughput_fps)
        .collect();
    let throughput_fps: Vec<f64> = visits.iter().copied().flatten().collect();
    let spread = spread(&throughput_fps).filter(|spread| spread.n > 1)?;
    let drift = if spread.min > 0.0 {
        spread.max / spread.min - 1.0
    } else {
        f64::MAX
    };
    Some(ControlSummary {
        cell: name.to_owned(),
        failed: (visits.len() - throughput_fps.len()) as u32,
        throughput_fps,
        drift,
        drift_limit,
    })
}

#[cfg(test)]
pub(crate) mod tests;
