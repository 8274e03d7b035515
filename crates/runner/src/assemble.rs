//! From a run directory to the object every renderer takes.

use std::collections::BTreeMap;

use nicety_account::waterfall;
use nicety_account::workload::Steps;
use nicety_model::sock::{SockResult, SockSeries};
use nicety_model::{Plan, PlanError, Run, SCHEMA};
use nicety_search::summary;
use nicety_search::verdict::{Drift, mark_drift};
use nicety_store::RunContents;

use crate::sock::series;

/// Puts a run together from what its directory holds; finished or not.
///
/// # Errors
/// When the plan in the directory does not parse.
pub fn run(contents: RunContents) -> Result<Run, PlanError> {
    let plan = Plan::parse("plan.toml", &contents.plan_toml)?;
    let mut cells = contents.cells;
    // Where every cell is visited again and again, none stands for the others.
    let control = plan
        .buildable_cells()
        .find(|_| contents.meta.estimator.is_none())
        .and_then(|key| summary::control(&key.name(), &cells, summary::DRIFT_LIMIT));
    if let Some(control) = &control {
        let drift = Drift {
            drift: control.drift,
            limit: control.drift_limit,
        };
        cells.iter_mut().for_each(|cell| mark_drift(cell, drift));
    }
    let results = summary::results(&cells);
    let names: Vec<String> = plan.buildable_cells().map(|key| key.name()).collect();
    let summary = summary::summarise(names.iter().map(String::as_str), &results);
    let sockets = sockets(&plan, contents.sockets);
    let mut head = contents.meta.head(contents.host);
    head.notes.extend(contents.notes);
    let (tester_limit_fps, notes) = contents
        .tester
        .map(|limits| (limits.limit_fps, limits.notes))
        .unwrap_or_default();
    head.notes.extend(notes);
    Ok(Run {
        schema: SCHEMA,
        run: head,
        tester_limit_fps,
        waterfalls: waterfall::of_cells(&results),
        visits: results,
        control,
        cells: summary,
        sockets,
        skipped: contents.meta.skipped,
        left_out: contents.meta.left_out,
        remedies: Vec::new(),
        trials: contents.trials,
    })
}

/// What was measured of every socket test, in the plan's order.
fn sockets(plan: &Plan, results: Vec<SockResult>) -> Vec<SockSeries> {
    let mut by_cell: BTreeMap<String, Vec<SockResult>> = BTreeMap::new();
    for result in results {
        by_cell.entry(result.cell.clone()).or_default().push(result);
    }
    plan.sock_cells()
        .filter_map(|cell| {
            let name = cell.name();
            let measured = by_cell.remove(&name)?;
            // A plan has been checked for what a series can be.
            let mut steps = Steps::new(cell.how_often).ok()?;
            measured
                .into_iter()
                .for_each(|result| steps.observe(result));
            Some(series::finish(steps, name))
        })
        .collect()
}
