//! Columns of a run whose search had several loss goals: what each visit found for each of them.

use nicety_model::{CellResult, GoalResult};

use super::Column;
use crate::document::csv::{Field, fields};

/// Of one goal: `goal_PDR_throughput_fps`.
fn of_goal() -> [Field<GoalResult>; 7] {
    fields![|g|
        "loss_goal_ratio": g.loss_goal;
        "throughput_fps": g.throughput_fps;
        "lower_fps": g.bounds.lower_fps;
        "upper_fps": g.bounds.upper_fps;
        "low_fps": g.estimate.map(|e| e.low_fps);
        "high_fps": g.estimate.map(|e| e.high_fps);
        "verdict": g.verdict;
    ]
}

/// Columns for every goal that occurs, in the order of the plan; none where cells have one goal.
pub(super) fn columns(cells: &[CellResult]) -> Vec<Column> {
    let mut goals: Vec<String> = Vec::new();
    for goal in cells.iter().flat_map(|cell| &cell.goals) {
        if !goals.contains(&goal.goal) {
            goals.push(goal.goal.clone());
        }
    }
    let mut columns: Vec<Column> = Vec::new();
    for goal in goals {
        // A goal without a name is called after its loss: `goal_0.01%_verdict`.
        let word = goal.replace(' ', "");
        for (name, field) in of_goal() {
            let goal = goal.clone();
            let at = move |cell: &CellResult| {
                let found = cell.goals.iter().find(|one| one.goal == goal);
                found.map(field).unwrap_or_default()
            };
            columns.push((format!("goal_{word}_{name}"), Box::new(at)));
        }
    }
    columns
}
