//! The list of runs that are kept, and the trend of a cell over them.

mod figure;

use nicety_model::compare::Difference;
use nicety_model::history::{KeptRun, RunList, Trend, TrendChange, TrendPoint};

use crate::Report;
use crate::document::table::Narrow::{Listed, Named};
use crate::document::{Block, Cell, Document, Medium, Table, columns};
use crate::error::ReportError;
use crate::json;
use crate::note;
use crate::number::{self, plural};

/// Characters of the longest bar.
const BAR: usize = 24;
/// Differences named at a change.
const NAMED: usize = 3;

/// The list of runs that are kept.
impl Report for RunList {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "nicety runs");
        doc.answer = vec![vec![format!(
            "{} in {}",
            plural(self.runs.len(), "run"),
            self.store
        )]];
        let kept = |run: &KeptRun| number::short(run.stored_bytes as f64);
        let table = Table::of(
            "Runs",
            &self.runs,
            columns![|run|
                "run" Place: run.id;
                "started" Tight: &run.started;
                "name" Text: &run.name;
                "cells" Number: format!("{}{}", run.cells, if run.complete { "" } else { ", not complete" });
                "ok" Number: run.cells_ok;
                "preset" Text: &run.preset;
                "kernel" Text: &run.kernel;
                "kept" Number: format!("{}B", kept(run));
                "labels" Text: run.labels.join(", ");
            ],
        );
        if table.total > 0 {
            let narrow = ["kept", "preset", "kernel", "ok", "name"].map(|name| (name, Named));
            let narrow = [&narrow[..], &[("labels", Listed)]].concat();
            doc.main("runs", "Runs", vec![Block::Table(table.narrow(&narrow))]);
        }
        Ok(doc)
    }
}

/// A row per run, in terminals with a bar and a line where the level changes.
impl Report for Trend {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let trend = self;
        let title = format!("{}, {}", followed(trend), trend.metric.word());
        let mut doc = Document::new(medium, title);
        doc.answer = vec![vec![answer(trend)]];
        let how = format!(
            "{} in {}; preset {}, loss goal {}; only runs whose verdict is ok or wide count for changes.",
            trend.metric.word(),
            trend.metric.unit(&trend.cell),
            trend.preset,
            loss(trend)
        );
        let mut runs = runs(trend, medium);
        if medium == Medium::Page {
            doc.page.figure = Some(figure::figures(trend));
            doc.page.eyebrow = "nicety runs trend".to_owned();
            doc.page.footer = how;
            doc.page.data = json::compact("trend", trend)?;
            doc.page.save = ("Save this trend as JSON", "nicety-trend.json");
            if !trend.changes.is_empty() {
                doc.section("changes", "Changes", vec![Block::Table(changes(trend))]);
            }
        } else {
            runs.legend = how;
        }
        doc.main("runs", "Runs", vec![Block::Table(runs)]);
        doc.list("notes", "Notes", note::lines(&trend.notes));
        Ok(doc)
    }
}

/// The cell, and the goal where there are several.
fn followed(trend: &Trend) -> String {
    match &trend.goal {
        Some(goal) => format!("{}, goal {goal}", trend.cell),
        None => trend.cell.clone(),
    }
}

/// The loss goal: `PDR (0.5 %)`, or the loss alone.
fn loss(trend: &Trend) -> String {
    let loss = number::loss(trend.loss_goal);
    match &trend.goal {
        Some(goal) if *goal != loss => format!("{goal} ({loss})"),
        _ => loss,
    }
}

fn answer(trend: &Trend) -> String {
    let runs = plural(trend.points.len(), "run");
    let followed = followed(trend);
    match trend.changes.as_slice() {
        [] => format!("{followed}: no change over {runs}"),
        changes => {
            let last = &changes[changes.len() - 1];
            format!(
                "{followed}: {} over {runs}, the last with run {}: {}",
                plural(changes.len(), "change"),
                last.id,
                number::change(last.ratio)
            )
        }
    }
}

/// A change of the level in a line.
fn told(change: &TrendChange) -> String {
    let mut text = format!(
        "-- {} from run {} on (p {})",
        number::change(change.ratio),
        change.id,
        number::significant(change.p, 1)
    );
    let named: Vec<String> = change
        .differences
        .iter()
        .take(NAMED)
        .map(|d| format!("{} {}, now {}", d.what, d.old, d.new))
        .collect();
    if !named.is_empty() {
        text.push_str(&format!(": {}", named.join("; ")));
        let more = change.differences.len() - named.len();
        if more > 0 {
            text.push_str(&format!("; and {more} more differences"));
        }
    }
    text
}

fn changes(trend: &Trend) -> Table {
    let differs = |d: &Difference| format!("{}: {} → {}", d.what, d.old, d.new);
    Table::of(
        "Where the level changes",
        &trend.changes,
        columns![|change|
            "from run" Place: change.id;
            "started" Tight: &change.started;
            "change" Main: Cell::sorted(change.ratio, number::change);
            "p" Number: number::significant(change.p, 1);
            "what else differs" Wide: change.differences.iter().map(differs).collect::<Vec<_>>();
        ],
    )
}

fn value(trend: &Trend, point: &TrendPoint) -> String {
    Cell::number(point.value, |value| number::of_metric(trend.metric, value)).text
}

/// The runs, in terminals with bars and under the changes before them.
fn runs(trend: &Trend, medium: Medium) -> Table {
    let words = |value: f64| number::of_metric(trend.metric, value);
    let metric = trend.metric.word();
    let values = trend.points.iter().filter_map(|point| point.value);
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let ends = |point: &TrendPoint| match (point.min, point.max) {
        (Some(min), Some(max)) if max > min => Some(format!("{} to {}", words(min), words(max))),
        _ => None,
    };
    let mut table = Table::of(
        format!("{metric} in {}", trend.metric.unit(&trend.cell)),
        &trend.points,
        columns![|point|
            "run" Place: point.id;
            "started" Tight: &point.started;
            metric Main: Cell::sorted(point.value, words).interval(ends(point)).details(ends(point));
            "repeats" Number: point.repeats;
            "bar" Text: bar(point, largest);
            "labels" Text: point.labels.join(", ");
            "verdict" Text: point.verdict;
        ],
    )
    .narrow(&[
        ("repeats", Named),
        ("labels", Listed),
        ("bar", Named),
        ("started", Listed),
    ]);
    let bars = medium == Medium::Terminal;
    table = table.speaking(|heading, _| heading != "bar" || bars);
    let mut since = String::new();
    for point in &trend.points {
        if let Some(change) = trend.changes.iter().find(|change| change.id == point.id) {
            since = told(change);
        }
        table.headings.push(since.clone());
    }
    table
}

fn bar(point: &TrendPoint, largest: f64) -> String {
    let value = point
        .value
        .filter(|value| value.is_finite() && largest > 0.0);
    let filled = value.map_or(0, |value| (value / largest * BAR as f64).round() as usize);
    // Only what may be trusted is drawn solid.
    let ink = if point.verdict.is_own() { "#" } else { "." };
    ink.repeat(filled.min(BAR))
}
