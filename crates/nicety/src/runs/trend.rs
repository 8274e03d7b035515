//! A cell over the runs of the history.

use anyhow::anyhow;
use nicety_compare::levels::{levels, notes};
use nicety_history::{History, HistoryPoint};
use nicety_model::history::{Trend, TrendPoint};
use nicety_model::{SCHEMA, cell_choice};
use nicety_report::{csv, html, json};

use super::read;
use crate::cli::runs::TrendArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Shows the trend.
pub fn run(store: &dyn History, args: &TrendArgs) -> Result<Exit, Failure> {
    let cells = store.cells()?;
    let Some(typed) = &args.cell else {
        return list(&cells);
    };
    let cell = cell_choice::choose(&cells, typed).map_err(Failure::usage)?;
    let mut points = store.points(cell, args.metric)?;
    let label = args.label.as_ref();
    points.retain(|point| label.is_none_or(|label| point.point.labels.contains(label)));
    let Some(newest) = points.last().cloned() else {
        return Err(unknown(cell, args));
    };
    let all = points.len();
    let points = comparable(points);
    let left_out = all - points.len();
    let trend = Trend {
        schema: SCHEMA,
        cell: cell.to_owned(),
        metric: args.metric,
        changes: levels(&points, |id| read(store, id))?,
        notes: notes(&points, left_out),
        preset: newest.preset,
        loss_goal: newest.loss_goal,
        points,
        left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
    };
    if let Some(path) = &args.html {
        crate::report::write(path, |out| html(&trend, out))?;
        return Ok(Exit::Done);
    }
    output::report(
        &args.format,
        &trend,
        |out| json::pretty("history", &trend, out),
        |out| csv::history::trend(&trend, out),
    )?;
    Ok(Exit::Done)
}

/// Points that searched as the newest one did: numbers of other searches are other numbers.
pub fn comparable(mut points: Vec<HistoryPoint>) -> Vec<TrendPoint> {
    if let Some(newest) = points.last().cloned() {
        points.retain(|p| p.preset == newest.preset && p.loss_goal == newest.loss_goal);
    }
    points.into_iter().map(|point| point.point).collect()
}

/// The cells with the numbers that stand for their names.
fn list(cells: &[String]) -> Result<Exit, Failure> {
    if cells.is_empty() {
        output::say("no runs with cells kept yet; keep one with: nicety bench --keep");
    }
    let width = cells.len().to_string().len();
    let lines = cells.iter().enumerate();
    let lines = lines.map(|(at, cell)| format!("{:>width$}  {cell}\n", at + 1));
    output::print(&lines.collect::<String>())?;
    Ok(Exit::Done)
}

/// A cell without a number of this kind, or without one under the label.
fn unknown(cell: &str, args: &TrendArgs) -> Failure {
    let what = format!("no run has the {} of {cell}", args.metric.word());
    Failure::usage(match &args.label {
        Some(label) => anyhow!("{what} and the label {label}; look without --label"),
        None => anyhow!("{what}; name another --metric"),
    })
}
