//! The table of a run whose search had several loss goals: a row per cell and goal.

use nicety_model::GoalSummary;
use nicety_model::units::Fps;

use crate::document::{Block, Cell, Table, columns};
use crate::note;
use crate::number::{self, ABSENT};
use crate::pick::Group;

/// A cell and what was found for one of its goals.
type Row<'r> = (&'r Group<'r>, &'r GoalSummary);

/// The table and what its columns mean; nothing where every cell has one goal.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let rows: Vec<Row<'_>> = groups.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table = Table::of(
        "Throughput of every result for each loss goal",
        rows.iter(),
        columns![|(group, goal)|
            "cell" Name: group.name;
            "goal" Text: goal.goal.as_str();
            "loss up to" Number: number::loss(goal.loss_goal);
            "frames/s" Main: Cell::from(fps_text(goal)).by(fps(goal)).interval(interval_text(goal));
            "interval" Number: Cell::of(interval_text(goal));
            "Mbit/s" Number: number::mbps(mbps(group, goal));
            "verdict" Text: Cell::badge(goal.verdict).details(note::lines(&goal.why));
        ],
    );
    table = table.legend(
        "One search found all of them with shared trials. A load that meets a goal meets every \
         looser one. Confirm trial and latency are those of the strictest goal."
            .to_owned(),
    );
    vec![Block::Table(table)]
}

fn rows<'r>(group: &'r Group<'r>) -> impl Iterator<Item = Row<'r>> {
    let goals = group.summary.into_iter().flat_map(|summary| &summary.goals);
    goals.map(move |goal| (group, goal))
}

fn fps(goal: &GoalSummary) -> Option<f64> {
    goal.throughput_fps.filter(|fps| fps.is_finite())
}

fn interval(goal: &GoalSummary) -> Option<(f64, f64)> {
    let estimate = goal.estimate?;
    let ends = (estimate.low_fps, estimate.high_fps);
    (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

fn interval_text(goal: &GoalSummary) -> Option<String> {
    interval(goal).map(number::interval)
}

/// With the digits that the interval allows.
fn fps_text(goal: &GoalSummary) -> String {
    match (fps(goal), interval(goal)) {
        (Some(fps), Some(ends)) => number::within(fps, ends),
        (fps, _) => fps.map_or_else(|| ABSENT.to_owned(), number::short),
    }
}

fn mbps(group: &Group<'_>, goal: &GoalSummary) -> Option<f64> {
    let mbps = group.key.l1_mbps(Fps(fps(goal)?));
    Some(match fps(goal).zip(interval(goal)) {
        Some((fps, ends)) => number::rounded(mbps, number::digits(fps, ends)),
        None => mbps,
    })
}
