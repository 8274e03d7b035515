//! The history of runs as terminal tables and JSON.

mod html;

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use nicety_model::Verdict;
use nicety_model::compare::Metric;
use nicety_model::history::{KeptRun, RunList, Trend, TrendChange, TrendPoint};
use serde::Serialize;

use crate::error::{ReportError, write_text};
use crate::number::{self, ABSENT};
use crate::table::{Options, Page, visible};
use crate::words::plural;

pub use html::render as trend_html;

/// Characters of the longest bar.
const BAR: usize = 24;
/// Differences named at a change.
const NAMED: usize = 3;

/// Writes a list of runs or a trend as JSON, ended by a newline.
///
/// # Errors
/// [`ReportError::Json`], [`ReportError::Write`].
pub fn json(value: &impl Serialize, out: &mut impl Write) -> Result<(), ReportError> {
    let mut text = serde_json::to_string_pretty(value).map_err(|source| ReportError::Json {
        name: "history".to_owned(),
        source,
    })?;
    text.push('\n');
    write_text(out, "JSON", &text)
}

/// Heading and content of a column.
type Column<T> = (&'static str, fn(&T) -> String);

const RUNS: &[Column<KeptRun>] = &[
    ("run", |run| run.id.to_string()),
    ("started", |run| run.started.clone()),
    ("name", |run| run.name.clone()),
    ("cells", |run| {
        let mut text = run.cells.to_string();
        if !run.complete {
            text.push_str(", not complete");
        }
        text
    }),
    ("ok", |run| run.cells_ok.to_string()),
    ("preset", |run| run.preset.clone()),
    ("kernel", |run| run.kernel.clone()),
    ("kept", |run| {
        format!("{}B", number::short(run.stored_bytes as f64).trim_end())
    }),
    ("labels", |run| run.labels.join(", ")),
];
/// Columns of the list given up at narrow widths, first one first.
const DISPENSABLE: [&str; 5] = ["kept", "preset", "kernel", "ok", "name"];

/// Writes the list of runs.
///
/// # Errors
/// [`ReportError::Write`].
pub fn list(list: &RunList, out: &mut impl Write, options: Options) -> Result<(), ReportError> {
    let mut page = Page::new(options);
    page.strong(&format!(
        "{} in {}",
        plural(list.runs.len(), "run"),
        list.store
    ));
    if !list.runs.is_empty() {
        page.blank();
        let mut columns: Vec<&Column<KeptRun>> = RUNS.iter().collect();
        for name in DISPENSABLE {
            if fits(&list.runs, &columns, page.width) {
                break;
            }
            columns.retain(|(heading, _)| *heading != name);
        }
        for line in build(&list.runs, &columns, page.width).lines() {
            page.line(&line);
        }
    }
    write_text(out, "list", &page.text)
}

fn fits<T>(rows: &[T], columns: &[&Column<T>], width: u16) -> bool {
    let widths = build(rows, columns, u16::MAX).column_max_content_widths();
    let gaps = 2 * widths.len().saturating_sub(1);
    widths.iter().map(|w| usize::from(*w)).sum::<usize>() + gaps <= usize::from(width)
}

/// A table that breaks lines within its cells when even the necessary columns do not fit.
fn build<T>(rows: &[T], columns: &[&Column<T>], width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(columns.iter().map(|(heading, _)| *heading));
    for row in rows {
        table.add_row(
            columns
                .iter()
                .map(|(_, text)| Cell::new(visible(&text(row)))),
        );
    }
    for (index, (heading, _)) in columns.iter().enumerate() {
        if let Some(layout) = table.column_mut(index) {
            layout.set_padding((0, 2));
            if matches!(*heading, "run" | "cells" | "ok" | "kept") {
                layout.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
}

/// Writes a trend: a line per run with a bar, and a line where the level changes.
///
/// # Errors
/// [`ReportError::Write`].
pub fn trend(trend: &Trend, out: &mut impl Write, options: Options) -> Result<(), ReportError> {
    let mut page = Page::new(options);
    page.strong(&answer(trend));
    page.blank();
    let largest = trend
        .points
        .iter()
        .filter_map(|point| point.value)
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    for point in &trend.points {
        if let Some(change) = trend.changes.iter().find(|change| change.id == point.id) {
            page.strong(&told(change));
        }
        for line in page.wrap(0, &line(trend.metric, point, largest)) {
            page.line(&line);
        }
    }
    page.blank();
    page.prose(
        0,
        &format!(
            "{} in {}; preset {}, loss goal {}; only runs whose verdict is ok or wide count for changes.",
            trend.metric.word(),
            trend.metric.unit(&trend.cell),
            trend.preset,
            number::loss(trend.loss_goal)
        ),
    );
    for note in &trend.notes {
        page.prose(0, &note.to_string());
    }
    write_text(out, "trend", &page.text)
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

fn value(metric: Metric, point: &TrendPoint) -> String {
    point
        .value
        .map_or_else(|| ABSENT.to_owned(), |value| number_of(metric, value))
}

fn number_of(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => number::rate(value),
        Metric::Cpu => number::significant(value, 3),
        _ => number::micros(value),
    }
}

fn line(metric: Metric, point: &TrendPoint, largest: f64) -> String {
    let value = value(metric, point);
    let filled = point
        .value
        .filter(|value| value.is_finite() && largest > 0.0)
        .map_or(0, |value| (value / largest * BAR as f64).round() as usize);
    // Only what may be trusted is drawn solid.
    let ink = if point.verdict.is_own() { "#" } else { "." };
    let bar = ink.repeat(filled.min(BAR));
    let mut text = format!(
        "{:>5}  {}  {value:>12}  {bar:<BAR$}",
        point.id, point.started
    );
    if point.verdict != Verdict::Ok {
        text.push_str(&format!("  {}", point.verdict));
    }
    if !point.labels.is_empty() {
        text.push_str(&format!("  [{}]", point.labels.join(", ")));
    }
    text.trim_end().to_owned()
}
