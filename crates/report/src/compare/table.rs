//! A comparison for a terminal of any width.

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use nicety_model::compare::{ComparedCell, Comparison, Judgement};

use super::{row, words};
use crate::error::{ReportError, write_text};
use crate::pick;
use crate::table::{Options, Page, visible};

/// Columns, and which go first when the terminal is narrow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Cell,
    Metric,
    Old,
    New,
    Change,
    Interval,
    Judgement,
}

/// Columns given up at narrow widths, first one first. The change and its judgement stay.
const DISPENSABLE: [Column; 3] = [Column::Old, Column::New, Column::Interval];

/// Writes the answer in words, what could explain it, a line per cell and the reasons of those
/// that could not be judged.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(
    comparison: &Comparison,
    out: &mut impl Write,
    options: Options,
) -> Result<(), ReportError> {
    let mut page = Page::new(options);
    for sentence in words::summary(comparison) {
        page.strong(&sentence);
    }
    if let Some(sentence) = words::explanation(comparison) {
        page.prose(0, &sentence);
    }
    page.blank();
    rows(&mut page, comparison);
    page.blank();
    page.prose(0, &words::legend(comparison));
    page.blank();
    lists(&mut page, comparison);
    write_text(out, "table", &page.text)
}

fn rows(page: &mut Page, comparison: &Comparison) {
    let rows = row::ordered(comparison);
    let mut columns = vec![
        Column::Cell,
        Column::Metric,
        Column::Old,
        Column::New,
        Column::Change,
        Column::Interval,
        Column::Judgement,
    ];
    if !row::several_metrics(comparison) {
        columns.retain(|column| *column != Column::Metric);
    }
    let mut dispensable = DISPENSABLE.into_iter();
    let lines = loop {
        let table = build(comparison, &rows, &columns);
        if fits(&table, page.width) {
            break Some(table);
        }
        match dispensable.next() {
            Some(column) => columns.retain(|kept| *kept != column),
            None => break None,
        }
    };
    let Some(table) = lines else {
        return list(page, comparison, &rows);
    };
    let lines: Vec<String> = table.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim_end();
        let painted = match index.checked_sub(1).and_then(|row| rows.get(row)) {
            None => page.paint(line, "1"),
            Some(row) => {
                let word = row::judgement(row);
                match line.strip_suffix(word) {
                    Some(rest) => format!("{rest}{}", page.paint(word, colour(row))),
                    None => line.to_owned(),
                }
            }
        };
        page.line(&painted);
    }
}

fn build(comparison: &Comparison, rows: &[&ComparedCell], columns: &[Column]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|column| heading(*column, comparison)));
    for row in rows {
        table.add_row(columns.iter().map(|column| text(*column, row)));
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(layout) = table.column_mut(index) {
            layout.set_padding((0, 2));
            if matches!(
                column,
                Column::Old | Column::New | Column::Change | Column::Interval
            ) {
                layout.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
}

fn heading(column: Column, comparison: &Comparison) -> Cell {
    Cell::new(match column {
        Column::Cell => "cell".to_owned(),
        Column::Metric => "number".to_owned(),
        Column::Old => "old".to_owned(),
        Column::New => "new".to_owned(),
        Column::Change => "change".to_owned(),
        Column::Interval => row::interval_heading(comparison),
        Column::Judgement => "judgement".to_owned(),
    })
}

fn text(column: Column, row: &ComparedCell) -> Cell {
    Cell::new(visible(&match column {
        Column::Cell => row.cell.clone(),
        Column::Metric => format!("{} {}", row.metric.word(), row.unit),
        Column::Old => row::value(row.metric, &row.old),
        Column::New => row::value(row.metric, &row.new),
        Column::Change => row::change(row),
        Column::Interval => row::interval(row),
        Column::Judgement => row::judgement(row).to_owned(),
    }))
}

fn fits(table: &Table, width: u16) -> bool {
    let widths = table.column_max_content_widths();
    let gaps = 2 * widths.len().saturating_sub(1);
    widths.iter().map(|w| usize::from(*w)).sum::<usize>() + gaps <= usize::from(width)
}

/// For terminals too narrow for any table.
fn list(page: &mut Page, comparison: &Comparison, rows: &[&ComparedCell]) {
    for row in rows {
        page.prose(0, &words::name(comparison, row));
        page.prose(2, &row::change(row));
        page.prose(2, row::judgement(row));
    }
}

fn lists(page: &mut Page, comparison: &Comparison) {
    let reasons = row::reasons(&row::ordered(comparison));
    if !reasons.is_empty() {
        page.strong("why not");
        for (reason, cells) in reasons {
            page.prose(2, &format!("{reason} ({})", pick::named(&cells)));
        }
    }
    if !comparison.differences.is_empty() {
        page.strong("what else differs");
        for difference in &comparison.differences {
            page.prose(
                2,
                &format!(
                    "{}: {}, now {}",
                    difference.what, difference.old, difference.new
                ),
            );
        }
    }
    for (title, cells) in [
        ("only in the old", &comparison.only_old),
        ("only in the new", &comparison.only_new),
    ] {
        if !cells.is_empty() {
            page.strong(title);
            page.prose(2, &cells.join(", "));
        }
    }
    if !comparison.notes.is_empty() {
        page.strong("notes");
        for note in &comparison.notes {
            page.prose(2, &note.to_string());
        }
    }
    page.strong("compared");
    page.prose(2, &format!("old: {}", words::side(&comparison.old)));
    page.prose(2, &format!("new: {}", words::side(&comparison.new)));
}

fn colour(row: &ComparedCell) -> &'static str {
    match row.judgement {
        _ if row.lost => "31",
        Judgement::Worse => "31",
        Judgement::Better | Judgement::Same => "32",
        Judgement::CannotTell | Judgement::NotJudged => "33",
    }
}
