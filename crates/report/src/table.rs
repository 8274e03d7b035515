//! Table for a terminal of any width.

mod ranking;

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use nicety_model::{Run, Verdict};

use crate::error::{ReportError, write_text};
use crate::guests;
use crate::legend;
use crate::number;
use crate::pick::{self, Group};
use crate::row::{self, Column};
use crate::sock;
use crate::threads;
use crate::words;

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal; fewer than 20 count as 20.
    pub width: u16,
    /// Whether ANSI colours may be used.
    pub colour: bool,
}

/// Columns given up when the terminal is too narrow, first one first. Size, throughput and
/// verdict stay: no number goes without its verdict.
const DISPENSABLE: [Column; 11] = [
    Column::Range,
    Column::P50,
    Column::Variation,
    Column::P99,
    Column::L1,
    Column::Loss,
    Column::Guest,
    Column::Cpu,
    Column::Capacity,
    Column::TenSeconds,
    Column::Interval,
];

/// Writes the run for a terminal: the answer in words, a line per cell, then what a reader must
/// know about the numbers. Columns that do not fit are named and left out; control characters
/// in names are replaced.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write, options: Options) -> Result<(), ReportError> {
    let mut page = Page::new(options);
    let groups = pick::groups(run);
    for sentence in words::summary(run) {
        page.strong(&sentence);
    }
    page.blank();
    if !groups.is_empty() {
        cells(&mut page, &groups);
        ranking::lines(&mut page, &groups);
        guests(&mut page, &groups);
    }
    if !run.sockets.is_empty() {
        page.text.push_str(&sock::text(&run.sockets, &[], options));
        page.blank();
    }
    notes(&mut page, run, &groups);
    write_text(out, "table", &page.text)
}

fn cells(page: &mut Page, groups: &[Group<'_>]) {
    let series = pick::series(groups);
    let ordered: Vec<&Group<'_>> = series
        .iter()
        .flat_map(|(_, cells)| cells.iter().copied())
        .collect();
    let mut columns = row::columns(groups);
    // One line per path reads best with the path in the line; several sizes of one path read
    // best under its name.
    let one_each = series.len() > 1 && series.len() == ordered.len();
    if !(one_each && page.fits(&ordered, &columns)) {
        columns.retain(|column| !matches!(column, Column::Path | Column::Direction));
    }
    let mut dropped = Vec::new();
    for candidate in DISPENSABLE {
        if page.fits(&ordered, &columns) {
            break;
        }
        if columns.contains(&candidate) {
            columns.retain(|column| *column != candidate);
            dropped.push(candidate);
        }
    }
    if page.fits(&ordered, &columns) {
        page.rows(&ordered, &columns);
    } else {
        page.list(&ordered);
        dropped.retain(|column| *column != Column::Interval);
    }
    page.blank();
    page.prose(0, &legend::legend(groups));
    if dropped.contains(&Column::Range) || dropped.contains(&Column::Variation) {
        repeats(page, &ordered);
        dropped.retain(|column| !matches!(column, Column::Range | Column::Variation));
    }
    if !dropped.is_empty() {
        let names: Vec<&str> = dropped.iter().map(|column| column.heading()).collect();
        page.prose(0, &format!("Left out at this width: {}.", names.join(", ")));
    }
    page.blank();
    users(page, &series);
}

/// Who used the CPUs, for the first cell of every path on which programs or guests work.
fn users(page: &mut Page, series: &[(pick::SeriesKey, Vec<&Group<'_>>)]) {
    let told = series.iter().filter_map(|(_, cells)| {
        cells.iter().find_map(|group| {
            let cpu = group.shown.cpu.as_ref()?;
            let users = threads::users(cpu).filter(|_| threads::worth_telling(cpu))?;
            Some((group.name, users, threads::guests(cpu)))
        })
    });
    let mut first = true;
    for (name, users, guests) in told {
        if first {
            page.strong("CPUs' worth of time by user");
            first = false;
        }
        let mut line = format!("{name}: {users}");
        for guest in guests {
            line.push_str(&format!("; by the count of {guest}"));
        }
        page.prose(2, &line);
    }
    page.blank();
}

fn guests(page: &mut Page, groups: &[Group<'_>]) {
    let lines = guests::lines(groups);
    if lines.is_empty() {
        return;
    }
    page.strong(guests::HEADING);
    for line in lines {
        page.prose(2, &line);
    }
    page.blank();
}

fn repeats(page: &mut Page, groups: &[&Group<'_>]) {
    page.blank();
    page.strong("repeats");
    for group in groups {
        if group.estimate().is_some() {
            continue;
        }
        if let Some(((min, max), ave)) = group.extremes_fps().zip(group.throughput_fps()) {
            let mut line = format!(
                "{}: ave {}, min {}, max {}",
                group.name,
                number::grouped(ave),
                number::grouped(min),
                number::grouped(max)
            );
            if let Some(cv) = group.summary.and_then(|s| s.throughput_fps?.cv) {
                line.push_str(&format!(", cv {}", number::variation(cv)));
            }
            line.push_str(&format!(" ({})", group.verdict()));
            page.prose(2, &line);
        }
    }
}

fn notes(page: &mut Page, run: &Run, groups: &[Group<'_>]) {
    let told = pick::notes(groups);
    if !told.is_empty() {
        page.strong("notes");
        for (note, cells) in told {
            page.prose(2, &format!("{note} ({})", pick::named(&cells)));
        }
    }
    let verdicts = pick::verdicts(groups);
    if verdicts.iter().any(|(verdict, _)| *verdict != Verdict::Ok) {
        page.strong("verdicts");
        for (verdict, _) in verdicts {
            page.prose(2, &format!("{verdict}: {}", verdict.meaning()));
        }
    }
    if let Some(control) = &run.control {
        page.strong("control cell");
        page.prose(2, &words::control(control));
    }
    if !run.tester_limit_fps.is_empty() {
        page.strong("the tester alone, without a path");
        let limits: Vec<String> = run
            .tester_limit_fps
            .iter()
            .map(|(key, fps)| format!("{}: {}", pick::limit_words(key), number::grouped(*fps)))
            .collect();
        page.prose(2, &format!("{} frames/s", limits.join(", ")));
    }
    if !run.skipped.is_empty() {
        page.strong("skipped: this machine cannot build them");
        for skipped in &run.skipped {
            page.prose(2, &pick::skipped_line(skipped));
        }
    }
    if !run.left_out.is_empty() {
        page.strong("left out by the time box or an interruption");
        page.prose(2, &run.left_out.join(", "));
    }
    if !run.run.notes.is_empty() {
        page.strong("this run");
        for note in &run.run.notes {
            page.prose(2, &note.to_string());
        }
    }
}

/// Text under way, wrapped to the terminal.
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) width: u16,
    colour: bool,
}

impl Page {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            text: String::new(),
            width: options.width.max(20),
            colour: options.colour,
        }
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line, never two.
    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    pub(crate) fn prose(&mut self, indent: u16, text: &str) {
        for line in self.wrap(indent, text) {
            self.line(&line);
        }
    }

    pub(crate) fn strong(&mut self, text: &str) {
        for line in self.wrap(0, text) {
            let line = self.paint(line.trim_end(), "1");
            self.line(&line);
        }
    }

    pub(crate) fn wrap(&self, indent: u16, text: &str) -> Vec<String> {
        let mut table = Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.width)
            .add_row([Cell::new(visible(text))]);
        if let Some(column) = table.column_mut(0) {
            column.set_padding((indent, 0));
        }
        table.lines().collect()
    }

    /// `text` in the ANSI style `code` when colours are allowed.
    pub(crate) fn paint(&self, text: &str, code: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn fits(&self, groups: &[&Group<'_>], columns: &[Column]) -> bool {
        let widths = build(groups, columns).column_max_content_widths();
        let gaps = 2 * widths.len().saturating_sub(1);
        widths.iter().map(|w| usize::from(*w)).sum::<usize>() + gaps <= usize::from(self.width)
    }

    fn rows(&mut self, groups: &[&Group<'_>], columns: &[Column]) {
        let lines: Vec<String> = build(groups, columns).lines().collect();
        let mut lines = lines.iter().map(|line| line.trim_end());
        if let Some(head) = lines.next() {
            let head = self.paint(head, "1");
            self.line(&head);
        }
        let headed = !columns.contains(&Column::Path);
        let mut series = None;
        for (group, line) in groups.iter().zip(lines) {
            if headed && series.as_ref() != Some(&group.series()) {
                series = Some(group.series());
                let heading = row::series_heading(group);
                for line in self.wrap(0, &heading) {
                    let line = self.paint(line.trim_end(), "2");
                    self.line(&line);
                }
            }
            let verdict = group.verdict();
            let line = match line.strip_suffix(verdict.word()) {
                Some(rest) => format!("{rest}{}", self.paint(verdict.word(), colour(verdict))),
                None => line.to_owned(),
            };
            self.line(&line);
        }
    }

    /// For terminals too narrow for any table.
    fn list(&mut self, groups: &[&Group<'_>]) {
        for group in groups {
            self.prose(0, group.name);
            let verdict = group.verdict();
            let fps = group.fps_text();
            match group.interval_text() {
                Some(interval) => self.prose(2, &format!("{fps} ({interval})")),
                None => self.line(&format!("  {fps} fps")),
            }
            let word = self.paint(verdict.word(), colour(verdict));
            self.line(&format!("  {word}"));
        }
    }
}

fn build(groups: &[&Group<'_>], columns: &[Column]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|column| column.heading()));
    for group in groups {
        table.add_row(columns.iter().map(|column| visible(&column.text(group))));
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(layout) = table.column_mut(index) {
            layout.set_padding((0, 2));
            if column.is_number() {
                layout.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
}

fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "32",
        Verdict::Failed => "31",
        _ => "33",
    }
}

/// `text` without characters that would move the cursor, change colours or turn the direction
/// of writing: names come from outside.
pub(crate) fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {
                char::REPLACEMENT_CHARACTER
            }
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}
