//! A cell over the runs of the history.

use std::io;

use anyhow::anyhow;
use nicety_compare::levels::{levels, notes};
use nicety_history::History;
use nicety_model::SCHEMA;
use nicety_model::history::Trend;
use nicety_report::{first_few, html, json, table};

use super::read;
use crate::cli::runs::TrendArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Shows the trend.
pub fn run(store: &dyn History, args: &TrendArgs) -> Result<Exit, Failure> {
    let mut points = store.points(&args.cell, args.metric)?;
    let label = args.label.as_ref();
    points.retain(|point| label.is_none_or(|label| point.point.labels.contains(label)));
    let Some(newest) = points.last().cloned() else {
        return Err(unknown(store, args)?);
    };
    // Numbers of other searches are other numbers.
    let all = points.len();
    points.retain(|p| p.preset == newest.preset && p.loss_goal == newest.loss_goal);
    let left_out = all - points.len();
    let points: Vec<_> = points.into_iter().map(|point| point.point).collect();
    let trend = Trend {
        schema: SCHEMA,
        cell: args.cell.clone(),
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
    let mut out = io::stdout().lock();
    crate::report::rendered(if args.json {
        json::pretty("history", &trend, &mut out)
    } else {
        table(&trend, &mut out, output::table_options())
    })?;
    Ok(Exit::Done)
}

fn unknown(store: &dyn History, args: &TrendArgs) -> Result<Failure, Failure> {
    let cells = store.cells()?;
    let what = format!(
        "no run has the {} of a cell {}",
        args.metric.word(),
        args.cell
    );
    let fix = match (&args.label, cells.as_slice()) {
        (Some(label), cells) if cells.contains(&args.cell) => {
            format!("look without --label {label}")
        }
        (_, []) => "add runs with cells first".to_owned(),
        (_, cells) => {
            format!("there are {}", first_few(cells, 8, ", "))
        }
    };
    Ok(Failure::usage(anyhow!("{what}; {fix}")))
}
