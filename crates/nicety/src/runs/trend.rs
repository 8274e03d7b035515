//! A cell over the runs of the history.

use anyhow::anyhow;
use nicety_compare::levels::{levels, notes};
use nicety_history::{History, HistoryPoint};
use nicety_model::goal::{OfGoal, cell_of};
use nicety_model::history::{Trend, TrendPoint};
use nicety_model::{SCHEMA, cell_choice};
use nicety_report::{csv, html, json};

use super::read;
use crate::cli::runs::TrendArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Shows the trend.
pub fn run(store: &History, args: &TrendArgs) -> Result<Exit, Failure> {
    let of_goal = |cell: &str| OfGoal::read(cell).is_some();
    let (of_goals, own): (Vec<String>, Vec<String>) =
        store.cells()?.into_iter().partition(|cell| of_goal(cell));
    let Some(typed) = &args.cell else {
        return list(&own);
    };
    let among = if of_goal(typed) { &of_goals } else { &own };
    let cell = cell_choice::choose(among, typed).map_err(Failure::usage)?;
    let followed = Followed::of(store, cell, args)?;
    let points = points(store, &followed.figures, args)?;
    let newest = points.last().cloned();
    let newest = newest.ok_or_else(|| unknown(&followed.figures, args))?;
    let all = points.len();
    let points = comparable(&followed.figures, points);
    let left_out = all - points.len();
    let trend = Trend {
        schema: SCHEMA,
        cell: followed.cell,
        metric: args.metric,
        changes: levels(&points, |id| read(store, id))?,
        notes: notes(&points, left_out),
        preset: newest.preset,
        loss_goal: followed.loss_goal.unwrap_or(newest.loss_goal),
        goal: followed.goal,
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

/// A cell and the loss goal that is followed.
struct Followed {
    cell: String,
    /// Under which name the store has the numbers: the strictest goal's are the cell's own.
    figures: String,
    /// Name of the goal, where there are several.
    goal: Option<String>,
    /// Its loss, where it is not that of the runs.
    loss_goal: Option<f64>,
}

impl Followed {
    fn of(store: &History, cell: &str, args: &TrendArgs) -> Result<Self, Failure> {
        let asked = args.goal.as_deref();
        let own = match (OfGoal::read(cell), asked) {
            (Some(of), None) => {
                return Ok(Self {
                    cell: of.cell.to_owned(),
                    figures: cell.to_owned(),
                    loss_goal: Some(of.loss_goal),
                    goal: Some(of.goal),
                });
            }
            (Some(of), Some(_)) => of.cell,
            (None, _) => cell,
        };
        let strictest = |goal| Self {
            cell: own.to_owned(),
            figures: own.to_owned(),
            goal,
            loss_goal: None,
        };
        // What the goals are called stands in the runs.
        let newest = points(store, own, args)?.pop();
        let newest = newest.ok_or_else(|| unknown(own, args))?.point.id;
        let run = read(store, newest)?;
        let summary = run.cells.iter().find(|summary| summary.cell == own);
        let goals = summary.map_or(&[][..], |summary| &summary.goals);
        let Some(asked) = asked else {
            return Ok(strictest(goals.first().map(|goal| goal.goal.clone())));
        };
        match goals.iter().position(|goal| goal.goal == asked) {
            Some(0) => Ok(strictest(Some(asked.to_owned()))),
            Some(at) => Ok(Self {
                cell: own.to_owned(),
                figures: cell_of(own, asked, goals[at].loss_goal),
                goal: Some(asked.to_owned()),
                loss_goal: Some(goals[at].loss_goal),
            }),
            None if goals.is_empty() => Err(Failure::usage(anyhow!(
                "run {newest} has one loss goal for {own}; leave --goal out"
            ))),
            None => {
                let known: Vec<&str> = goals.iter().map(|goal| goal.goal.as_str()).collect();
                Err(Failure::usage(anyhow!(
                    "run {newest} has no goal {asked:?} for {own}; name one of {}",
                    known.join(", ")
                )))
            }
        }
    }
}

/// A cell's numbers in the runs that are looked at.
fn points(store: &History, cell: &str, args: &TrendArgs) -> Result<Vec<HistoryPoint>, Failure> {
    let mut points = store.points(cell, args.metric)?;
    let label = args.label.as_ref();
    points.retain(|point| label.is_none_or(|label| point.point.labels.contains(label)));
    Ok(points)
}

/// Points that searched as the newest one did: numbers of other searches are other numbers. A further goal has its loss
/// in the cell's name, whatever the strictest of the run is.
pub fn comparable(cell: &str, mut points: Vec<HistoryPoint>) -> Vec<TrendPoint> {
    if let Some(newest) = points.last().cloned() {
        let own = OfGoal::read(cell).is_some();
        points.retain(|p| p.preset == newest.preset && (own || p.loss_goal == newest.loss_goal));
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
