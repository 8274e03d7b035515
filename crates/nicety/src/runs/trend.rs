//! A cell over the runs of the history.

use std::io;

use anyhow::anyhow;
use nicety_compare::differences;
use nicety_compare::trend::{Change, SHORTEST, changes};
use nicety_history::{History, HistoryPoint};
use nicety_model::history::{Trend, TrendChange, TrendPoint};
use nicety_model::note::CompareNote;
use nicety_model::{Note, Run, SCHEMA};
use nicety_report::{html, json, table};

use super::read;
use crate::cli::runs::TrendArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Chance of a change where there is none.
const LEVEL: f64 = 0.05;

/// Shows the trend.
pub fn run(store: &dyn History, args: &TrendArgs) -> Result<Exit, Failure> {
    let mut points = store.points(&args.cell, args.metric)?;
    points.retain(|point| {
        args.label
            .as_ref()
            .is_none_or(|label| point.point.labels.contains(label))
    });
    let Some(newest) = points.last().cloned() else {
        return Err(unknown(store, args)?);
    };
    // Numbers of other searches are other numbers.
    let all = points.len();
    points.retain(|p| p.preset == newest.preset && p.loss_goal == newest.loss_goal);
    let left_out = all - points.len();
    let trend = Trend {
        schema: SCHEMA,
        cell: args.cell.clone(),
        metric: args.metric,
        changes: find(store, &points)?,
        notes: notes(&points, left_out),
        preset: newest.preset,
        loss_goal: newest.loss_goal,
        points: points.into_iter().map(|point| point.point).collect(),
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
            let few: Vec<&str> = cells.iter().take(8).map(String::as_str).collect();
            let more = cells.len() - few.len();
            let rest = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("there are {}{rest}", few.join(", "))
        }
    };
    Ok(Failure::usage(anyhow!("{what}; {fix}")))
}

fn find(store: &dyn History, points: &[HistoryPoint]) -> Result<Vec<TrendChange>, Failure> {
    let trusted: Vec<(&TrendPoint, f64)> = points
        .iter()
        .filter(|p| p.point.verdict.is_own())
        .filter_map(|p| Some((&p.point, p.point.value?.ln())))
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
        let runs: [Run; 2] = [
            read(store, trusted[at - 1].0.id)?,
            read(store, trusted[at].0.id)?,
        ];
        all.push(TrendChange {
            id: trusted[at].0.id,
            started: trusted[at].0.started.clone(),
            before: before.exp(),
            after: after.exp(),
            ratio: (after - before).exp(),
            p,
            differences: differences(&[&runs[0]], &[&runs[1]]),
        });
        from = at;
    }
    Ok(all)
}

fn notes(points: &[HistoryPoint], left_out: usize) -> Vec<Note> {
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(CompareNote::OthersLeftOut { runs: left_out });
    }
    let ok = points.iter().filter(|p| p.point.verdict.is_own()).count();
    // Below this no order of the numbers is rare enough: 2 * 4! * 4! / 8! = 0.03.
    let needed = 2 * SHORTEST + 2;
    if ok < needed {
        notes.push(CompareNote::FewRuns { runs: ok, needed });
    }
    notes.into_iter().map(Note::from).collect()
}
