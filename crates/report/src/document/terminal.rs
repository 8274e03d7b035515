//! A document for a terminal of any width.

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell as Column, CellAlignment, ColumnConstraint, ContentArrangement};
use nicety_model::visible::visible;

use super::table::Narrow;
use super::{Badge, Block, Cell, Document, Headline, Kind, Table};
use crate::error::{ReportError, write_text};
use crate::number::ABSENT;

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal; fewer than 20 count as 20.
    pub width: u16,
    /// Whether ANSI colours may be used.
    pub colour: bool,
}

/// ANSI styles.
const STRONG: &str = "1";
const FAINT: &str = "2";

/// Writes the answer, then each section. Columns that do not fit are named and left out, or listed
/// below their table; control characters in names are replaced.
pub(crate) fn write(
    document: &Document,
    out: &mut impl Write,
    options: Options,
) -> Result<(), ReportError> {
    let mut page = Page {
        text: String::new(),
        width: options.width.max(20),
        colour: options.colour,
        bare: false,
    };
    if let Some(host) = &document.host {
        page.prose(0, host, "2");
    }
    if let Some(headline) = &document.headline {
        page.headline(headline);
    }
    // Under a number the sentences only explain it.
    let style = if document.headline.is_none() {
        STRONG
    } else {
        ""
    };
    for sentences in &document.answer {
        page.prose(0, &sentences.join(" "), style);
    }
    page.blocks(0, &document.opening);
    page.blank();
    for section in &document.sections {
        if !section.main {
            page.prose(0, &lower_case(&section.title), STRONG);
        }
        page.blocks(if section.main { 0 } else { 2 }, &section.blocks);
    }
    let end = page.text.trim_end().len();
    page.text.truncate(end);
    page.text.push('\n');
    write_text(out, "table", &page.text)
}

/// Writes the rows of the tables that the document is about, and nothing else: for scripts.
pub(crate) fn write_rows(
    document: &Document,
    out: &mut impl Write,
    options: Options,
) -> Result<(), ReportError> {
    let mut page = Page {
        text: String::new(),
        width: options.width.max(20),
        colour: options.colour,
        bare: true,
    };
    for table in document.main_tables() {
        let shown = Shown::of(table, page.width);
        page.rows(table, &shown);
    }
    write_text(out, "table", &page.text)
}

fn lower_case(title: &str) -> String {
    let mut letters = title.chars();
    // A word of capitals stays one.
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            format!("{}{}", first.to_lowercase(), &title[first.len_utf8()..])
        }
        _ => title.to_owned(),
    }
}

/// Text under way, wrapped to the terminal.
struct Page {
    text: String,
    width: u16,
    colour: bool,
    /// Without headers and headings.
    bare: bool,
}

impl Page {
    fn blocks(&mut self, indent: u16, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text(text) | Block::Remark(text) => self.prose(indent, text, ""),
                Block::List(lines) => {
                    for line in lines {
                        self.prose(indent, line, "");
                    }
                }
                Block::Steps(title, steps) => {
                    self.blank();
                    self.prose(indent, title, STRONG);
                    for (n, step) in steps.iter().enumerate() {
                        self.prose(indent + 2, &format!("{}. {step}", n + 1), "");
                    }
                }
                Block::Terms(terms) => {
                    for (term, meaning) in terms {
                        self.prose(indent, &format!("{}: {meaning}", term.text), "");
                    }
                }
                Block::Table(table) => self.table(table),
                Block::Code(text) => self.prose(indent, text, ""),
                Block::Routes(routes) => {
                    self.blank();
                    for line in routes.lines(usize::from(self.width)) {
                        self.line(&visible(&line));
                    }
                }
                Block::Folded(_, blocks) => self.blocks(indent, blocks),
                Block::Drawn(_) => {}
            }
        }
    }

    /// The number in bold, the verdict behind it, or below it where there is no room.
    fn headline(&mut self, headline: &Headline) {
        let before = self.text.len();
        self.prose(0, &headline.line(), STRONG);
        let badge = &headline.badge;
        let word = self.paint(badge.word, badge.tone.colour());
        let lines = self.text[before..].trim_end().lines().count();
        let taken = headline.line().chars().count() + 2 + badge.word.len();
        if lines == 1 && taken <= usize::from(self.width) {
            self.text.truncate(self.text.trim_end().len());
            self.text.push_str("  ");
        }
        self.line(&word);
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line, never two.
    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn prose(&mut self, indent: u16, text: &str, style: &str) {
        let mut table = comfy_table::Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.width)
            .add_row([Column::new(visible(text))]);
        if let Some(column) = table.column_mut(0) {
            column.set_padding((indent, 0));
        }
        for line in table.lines() {
            let line = self.paint(line.trim_end(), style);
            self.line(&line);
        }
    }

    /// `text` in the ANSI style `code` when colours are allowed.
    fn paint(&self, text: &str, code: &str) -> String {
        if self.colour && !text.is_empty() && !code.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn table(&mut self, table: &Table) {
        self.blank();
        let shown = Shown::of(table, self.width);
        let mut lost: Vec<usize> = shown.lost.clone();
        if shown.fits {
            self.rows(table, &shown);
        } else {
            // Intervals stand with their numbers.
            lost.retain(|at| !table.head[*at].0.ends_with("interval"));
            self.list(table, &shown);
        }
        if !table.legend.is_empty() {
            self.blank();
            self.prose(0, &table.legend, "");
        }
        let listed = |at: &usize| {
            table
                .narrow
                .contains(&(table.head[*at].0.clone(), Narrow::Listed))
        };
        let (listed, named): (Vec<usize>, Vec<usize>) = lost.into_iter().partition(listed);
        self.listed(table, &listed);
        if !named.is_empty() {
            let names: Vec<&str> = named.iter().map(|at| table.head[*at].0.as_str()).collect();
            self.prose(
                0,
                &format!("Left out at this width: {}.", names.join(", ")),
                "",
            );
        }
        self.blank();
    }

    fn rows(&mut self, table: &Table, shown: &Shown) {
        let lines: Vec<String> = shown.build(table).lines().collect();
        let mut lines = lines.iter().map(|line| line.trim_end());
        if let Some(head) = lines.next().filter(|_| !self.bare) {
            let head = self.paint(head, STRONG);
            self.line(&head);
        }
        let mut under = "";
        let mut begun = 0;
        for line in lines {
            // What is broken goes on below empty fields.
            if shown.wraps.is_some() && line.starts_with(' ') {
                self.line(line);
                continue;
            }
            let at = begun;
            begun += 1;
            if at == table.rows.len() {
                break;
            }
            let heading = table
                .headings
                .get(at)
                .filter(|_| shown.headed && !self.bare);
            if let Some(heading) = heading.filter(|heading| *heading != under) {
                under = heading;
                self.prose(0, heading, FAINT);
            }
            let line = match badge(table.rows[at].last()) {
                Some(badge) => match line.strip_suffix(badge.word) {
                    Some(rest) => format!("{rest}{}", self.paint(badge.word, badge.tone.colour())),
                    None => line.to_owned(),
                },
                None => line.to_owned(),
            };
            self.line(&line);
        }
    }

    /// For terminals too narrow for the table: the number it is about, else all fields.
    fn list(&mut self, table: &Table, shown: &Shown) {
        let main = table.head.iter().position(|(_, kind)| *kind == Kind::Main);
        if let Some(main) = main {
            self.prose(0, &table.head[main].0, STRONG);
        }
        let mut under = "";
        for (at, row) in table.rows.iter().enumerate() {
            // Names say what headings do that stand for columns.
            let heading = table.headings.get(at).filter(|_| table.headed.is_empty());
            if let Some(heading) = heading.filter(|heading| *heading != under) {
                under = heading;
                self.prose(0, heading, FAINT);
            }
            self.prose(0, &table.name(at), "");
            match main {
                Some(main) => {
                    let cell = &row[main];
                    let interval = cell.extras().interval.as_ref();
                    let interval = interval.map_or_else(String::new, |i| format!(" ({i})"));
                    self.prose(2, &format!("{}{interval}", cell.plain()), "");
                }
                None => {
                    let fields = shown.columns.iter().filter(|column| {
                        !table.head[**column].1.is_name() && !silent(&row[**column])
                    });
                    let fields = fields.map(|column| {
                        format!("{} {}", table.head[*column].0, row[*column].plain())
                    });
                    let fields: Vec<String> = fields.collect();
                    self.prose(2, &fields.join(", "), "");
                }
            }
            if let Some(badge) = badge(row.last()).filter(|_| main.is_some()) {
                let word = self.paint(badge.word, badge.tone.colour());
                self.line(&format!("  {word}"));
            }
        }
    }

    /// Columns that had no room, row by row.
    fn listed(&mut self, table: &Table, columns: &[usize]) {
        let names: Vec<&str> = columns
            .iter()
            .map(|at| table.head[*at].0.as_str())
            .collect();
        let mut first = true;
        for (at, row) in table.rows.iter().enumerate() {
            let fields = columns.iter().filter(|column| !silent(&row[**column]));
            let fields: Vec<String> = fields
                .map(|column| match columns.len() {
                    1 => row[*column].plain(),
                    _ => format!("{} {}", table.head[*column].0, row[*column].plain()),
                })
                .collect();
            if !fields.is_empty() {
                if std::mem::take(&mut first) {
                    self.blank();
                    self.prose(0, &names.join(", "), STRONG);
                }
                self.prose(2, &format!("{}: {}", table.name(at), fields.join(", ")), "");
            }
        }
    }
}

fn silent(cell: &Cell) -> bool {
    cell.text.is_empty() || cell.is_absent()
}

fn badge(cell: Option<&Cell>) -> Option<&Badge> {
    let cell = cell?;
    let badge = cell.extras().badge.as_ref();
    badge.filter(|badge| badge.word == cell.text)
}

/// Which columns of a table are shown.
struct Shown {
    columns: Vec<usize>,
    /// Columns given up, first one first.
    lost: Vec<usize>,
    /// Whether headings say what the first columns would.
    headed: bool,
    fits: bool,
    /// Columns whose unit is not the same in all rows.
    units: Vec<bool>,
    /// Width to which sentences are broken.
    wraps: Option<u16>,
}

/// Columns that a sentence has at least, before another column is given up for it.
const SENTENCE: u16 = 20;

impl Shown {
    fn of(table: &Table, width: u16) -> Self {
        let units = |at: usize| {
            let mut units = table.rows.iter().map(|row| &row[at].extras().unit);
            let first = units.next();
            units.any(|unit| Some(unit) != first)
        };
        let mut shown = Self {
            columns: (0..table.head.len()).collect(),
            lost: Vec::new(),
            headed: !table.headings.is_empty(),
            fits: true,
            units: (0..table.head.len()).map(units).collect(),
            wraps: None,
        };
        let mut widths = shown.build(table).column_max_content_widths();
        let whole: usize = widths.iter().map(|width| usize::from(*width) + 2).sum();
        if table.wraps && whole > usize::from(width) + 2 {
            shown.wraps = Some(width);
            for (at, (_, kind)) in table.head.iter().enumerate() {
                if *kind == Kind::Wide {
                    widths[at] = widths[at].min(SENTENCE);
                }
            }
        }
        let fits = |columns: &[usize]| {
            let gaps = 2 * columns.len().saturating_sub(1);
            let content = columns.iter().map(|at| usize::from(widths[*at]));
            content.sum::<usize>() + gaps <= usize::from(width)
        };
        // One line for each heading reads best with the heading in the line.
        let mut headings: Vec<&String> = table.headings.iter().collect();
        headings.dedup();
        let one_each = headings.len() > 1 && headings.len() == table.rows.len();
        if !table.headed.is_empty() {
            shown.headed = !(one_each && fits(&shown.columns));
            if shown.headed {
                let said = |at: &usize| table.headed.contains(&&*table.head[*at].0);
                shown.columns.retain(|at| !said(at));
            }
        }
        for (name, _) in &table.narrow {
            if fits(&shown.columns) {
                break;
            }
            let at = shown
                .columns
                .iter()
                .position(|at| table.head[*at].0 == *name);
            if let Some(at) = at {
                let column = shown.columns.remove(at);
                shown.lost.push(column);
            }
        }
        shown.fits = fits(&shown.columns);
        shown
    }

    fn build(&self, table: &Table) -> comfy_table::Table {
        let mut built = comfy_table::Table::new();
        built
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.columns.iter().map(|at| visible(&table.head[*at].0)));
        for row in &table.rows {
            let field = |at: &usize| {
                let (cell, unit) = (row[*at].plain(), &row[*at].extras().unit);
                if self.units[*at] && !unit.is_empty() && cell != ABSENT {
                    visible(&format!("{cell} {unit}"))
                } else {
                    visible(&cell)
                }
            };
            built.add_row(self.columns.iter().map(field));
        }
        if let Some(width) = self.wraps {
            // The last column has a gap behind it too.
            built
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width + 2);
        }
        for (at, column) in self.columns.iter().enumerate() {
            if let Some(layout) = built.column_mut(at) {
                layout.set_padding((0, 2));
                if self.wraps.is_some() && table.head[*column].1 != Kind::Wide {
                    layout.set_constraint(ColumnConstraint::ContentWidth);
                }
                if table.head[*column].1.is_number() {
                    layout.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        built
    }
}

/// A report as a terminal shows it.
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(crate) fn shown(report: &impl crate::Report, width: u16, colour: bool) -> String {
    let mut out = Vec::new();
    crate::table(report, &mut out, Options { width, colour }).unwrap();
    String::from_utf8(out).unwrap()
}
