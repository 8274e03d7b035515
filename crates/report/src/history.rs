//! The list of runs that are kept, and the trend of a cell over them.

mod figure;

use std::io::Write;

use nicety_model::history::{KeptRun, RunList, Trend, TrendChange, TrendPoint};
use serde::Serialize;

use crate::document::table::Narrow::{Listed, Named};
use crate::document::terminal::{self, Options};
use crate::document::{Block, Cell, Document, Kind, Medium, Table};
use crate::error::ReportError;
use crate::json;
use crate::note;
use crate::number::{self, plural};

/// Characters of the longest bar.
const BAR: usize = 24;
/// Differences named at a change.
const NAMED: usize = 3;

/// Writes a list of runs or a trend as JSON, ended by a newline.
///
/// # Errors
/// [`ReportError::Json`], [`ReportError::Write`].
pub fn json(value: &impl Serialize, out: &mut impl Write) -> Result<(), ReportError> {
    json::pretty("history", value, out)
}

/// Writes the list of runs for a terminal.
///
/// # Errors
/// [`ReportError::Write`].
pub fn list(list: &RunList, out: &mut impl Write, options: Options) -> Result<(), ReportError> {
    let mut doc = Document::new(Medium::Terminal, "nicety runs");
    doc.answer = vec![vec![format!(
        "{} in {}",
        plural(list.runs.len(), "run"),
        list.store
    )]];
    let kept = |run: &KeptRun| number::short(run.stored_bytes as f64);
    let table = Table::of(
        "Runs",
        &list.runs,
        &[
            ("run", Kind::Place, &|run| Cell::of(Some(run.id))),
            ("started", Kind::Tight, &|run| (&run.started).into()),
            ("name", Kind::Text, &|run| (&run.name).into()),
            ("cells", Kind::Number, &|run| match run.complete {
                true => Cell::of(Some(run.cells)),
                false => format!("{}, not complete", run.cells).into(),
            }),
            ("ok", Kind::Number, &|run| Cell::of(Some(run.cells_ok))),
            ("preset", Kind::Text, &|run| (&run.preset).into()),
            ("kernel", Kind::Text, &|run| (&run.kernel).into()),
            ("kept", Kind::Number, &|run| {
                format!("{}B", kept(run)).into()
            }),
            ("labels", Kind::Text, &|run| run.labels.join(", ").into()),
        ],
    );
    if table.total > 0 {
        let narrow = ["kept", "preset", "kernel", "ok", "name"].map(|name| (name, Named));
        let narrow = [&narrow[..], &[("labels", Listed)]].concat();
        doc.main("runs", "Runs", vec![Block::Table(table.narrow(&narrow))]);
    }
    terminal::write(&doc, out, options)
}

/// Writes a trend for a terminal: a line per run with a bar, and a line where the level changes.
///
/// # Errors
/// [`ReportError::Write`].
pub fn trend(trend: &Trend, out: &mut impl Write, options: Options) -> Result<(), ReportError> {
    terminal::write(&document(trend, Medium::Terminal)?, out, options)
}

/// Writes the trend as one self-contained HTML file.
///
/// # Errors
/// [`ReportError::Draw`] when the figure cannot be drawn, [`ReportError::Json`] when the data
/// cannot be embedded, [`ReportError::Write`] when the writer fails.
pub fn trend_html(trend: &Trend, out: &mut impl Write) -> Result<(), ReportError> {
    crate::document::html::write(&document(trend, Medium::Page)?, out)
}

fn document(trend: &Trend, medium: Medium) -> Result<Document, ReportError> {
    let mut doc = Document::new(medium, format!("{}, {}", trend.cell, trend.metric.word()));
    doc.answer = vec![vec![answer(trend)]];
    let how = format!(
        "{} in {}; preset {}, loss goal {}; only runs whose verdict is ok or wide count for changes.",
        trend.metric.word(),
        trend.metric.unit(&trend.cell),
        trend.preset,
        number::loss(trend.loss_goal)
    );
    let mut runs = runs(trend, medium);
    if medium == Medium::Page {
        doc.page.figure = Some(figure::figures(trend)?);
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

fn answer(trend: &Trend) -> String {
    let runs = plural(trend.points.len(), "run");
    match trend.changes.as_slice() {
        [] => format!("{}: no change over {runs}", trend.cell),
        changes => {
            let last = &changes[changes.len() - 1];
            format!(
                "{}: {} over {runs}, the last with run {}: {}",
                trend.cell,
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
    Table::of(
        "Where the level changes",
        &trend.changes,
        &[
            ("from run", Kind::Place, &|change| Cell::of(Some(change.id))),
            ("started", Kind::Tight, &|change| (&change.started).into()),
            ("change", Kind::Main, &|change| {
                Cell::sorted(change.ratio, number::change)
            }),
            ("p", Kind::Number, &|change| {
                number::significant(change.p, 1).into()
            }),
            ("what else differs", Kind::Wide, &|change| {
                let lines = change.differences.iter();
                Cell::list(
                    lines
                        .map(|d| format!("{}: {} → {}", d.what, d.old, d.new))
                        .collect(),
                )
            }),
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
        &[
            ("run", Kind::Place, &|point| Cell::of(Some(point.id))),
            ("started", Kind::Tight, &|point| (&point.started).into()),
            (metric, Kind::Main, &|point| {
                let value = Cell::sorted(point.value, words);
                value.interval(ends(point)).details(ends(point))
            }),
            ("repeats", Kind::Number, &|point| {
                Cell::of(Some(point.repeats))
            }),
            ("bar", Kind::Text, &|point| bar(point, largest).into()),
            ("labels", Kind::Text, &|point| {
                point.labels.join(", ").into()
            }),
            ("verdict", Kind::Text, &|point| Cell::badge(point.verdict)),
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
