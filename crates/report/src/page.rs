//! A page of headed tables for a terminal, as Markdown or as CSV.

mod colour;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use nicety_model::visible::visible;

use crate::document::table::{Of, Table as Rows};
use crate::document::terminal::Options;
use crate::document::{Cell, csv, markdown};
use crate::error::ReportError;

/// What a page consists of.
enum Part {
    Line(String),
    Table(Rows),
}

/// Text that grows section by section.
#[derive(Default)]
pub struct Page {
    parts: Vec<Part>,
}

/// What is shown of a field; nothing where nothing is known.
fn shown(cell: &Cell) -> String {
    if cell.is_absent() {
        String::new()
    } else {
        cell.text.clone()
    }
}

impl Page {
    /// A line of its own. Names come from outside: control characters are replaced.
    pub fn line(&mut self, text: &str) {
        self.parts.push(Part::Line(clean(text)));
    }

    /// A table below a heading; nothing when it has no rows. Columns that are empty in every row
    /// are left out.
    pub(crate) fn rows<T>(
        &mut self,
        heading: &str,
        rows: impl IntoIterator<Item = T>,
        columns: &[Of<'_, T>],
    ) {
        let mut table = Rows::of(heading, rows, columns);
        if table.rows.is_empty() {
            return;
        }
        let used = |column: &usize| {
            table
                .rows
                .iter()
                .any(|row| !shown(&row[*column]).is_empty())
        };
        let kept: Vec<bool> = (0..columns.len()).map(|column| used(&column)).collect();
        let mut keep = kept.iter();
        table.head.retain(|_| keep.next().copied().unwrap_or(true));
        for row in &mut table.rows {
            let mut keep = kept.iter();
            row.retain(|_| keep.next().copied().unwrap_or(true));
        }
        self.parts.push(Part::Table(table));
    }

    /// For a terminal. Without `header` only the rows of the tables are there.
    pub fn text(&self, options: Options, header: bool) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Line(line) if header => text.push_str(&format!("{line}\n")),
                Part::Line(_) => {}
                Part::Table(table) => {
                    if header {
                        text.push_str(&format!("\n{}\n", clean(&table.caption)));
                    }
                    text.push_str(&lines(table, options, header));
                }
            }
        }
        text
    }

    /// As GitHub Flavored Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Line(line) => markdown::paragraph(&mut text, line),
                Part::Table(table) => {
                    markdown::heading(&mut text, &table.caption);
                    markdown::table(&mut text, table);
                    text.push_str("\n\n");
                }
            }
        }
        let end = text.trim_end().len();
        text.truncate(end);
        text.push('\n');
        text
    }

    /// As CSV. Of several tables, the first column names the table, and a row has no value in columns of
    /// other tables.
    ///
    /// # Errors
    /// [`ReportError::Csv`] when a row cannot be formed.
    pub fn csv(&self, header: bool) -> Result<String, ReportError> {
        let tables = self.parts.iter().filter_map(|part| match part {
            Part::Table(table) => Some(table),
            Part::Line(_) => None,
        });
        csv::tables(&tables.collect::<Vec<_>>(), header)
    }
}

/// The rows of a table, below its header.
fn lines(of: &Rows, options: Options, header: bool) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(options.width.max(40));
    if header {
        table.set_header(of.head.iter().map(|(name, _)| clean(name)));
    }
    for row in &of.rows {
        table.add_row(row.iter().map(|cell| {
            let text = clean(&shown(cell));
            match &cell.extras().badge {
                Some(badge) if options.colour => colour::mark(&text, badge.tone),
                _ => text,
            }
        }));
    }
    let mut text = String::new();
    for line in table.to_string().lines() {
        text.push_str(&colour::paint(line.trim_end(), options.colour));
        text.push('\n');
    }
    text
}

/// [`visible`], and without characters that stand for colours in a table.
pub(crate) fn clean(text: &str) -> String {
    visible(text).replace(colour::is_mark, "\u{fffd}")
}

/// Text of a value that may be absent.
pub fn said<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Badge, Tone, columns};

    fn page() -> Page {
        let mut page = Page::default();
        page.line("one host");
        page.rows(
            "ports",
            [("a", 1), ("b|", 2)],
            columns![|(name, count)|
                "name" Name: *name;
                "none" Text: None::<String>;
                "count" Number: *count as u32;
                "is" Text: Badge::new("good", Tone::Good);
            ],
        );
        page.rows("guests", ["c, d"], columns![|name| "name" Name: *name;]);
        page
    }

    #[test]
    fn a_page_is_text_markdown_or_csv() {
        let [plain, colour] = [false, true].map(|colour| Options { width: 80, colour });
        let text = page().text(plain, true);
        assert_eq!(text.lines().next(), Some("one host"));
        assert!(text.contains("\nports\n name  count  is"), "{text}");
        assert!(!text.contains("none"), "{text}");
        let painted = page().text(colour, true);
        assert!(painted.contains("\u{1b}[32mgood\u{1b}[0m"), "{painted:?}");
        let bare: Vec<String> = page()
            .text(plain, false)
            .lines()
            .map(str::to_owned)
            .collect();
        assert_eq!(bare.len(), 3, "{bare:?}");
        let markdown = page().markdown();
        assert!(
            markdown.contains("## ports\n\n| name | count | is |\n"),
            "{markdown}"
        );
        assert!(markdown.contains(r"| b\| | 2 | good |"), "{markdown}");
        assert_eq!(
            page().csv(true).unwrap(),
            "table,name,count,is\nports,a,1,good\nports,b|,2,good\nguests,\"c, d\",,\n"
        );
        assert_eq!(page().csv(false).unwrap().lines().count(), 3);
    }

    #[test]
    fn names_cannot_colour_anything() {
        let mut page = Page::default();
        page.line("\u{e061}\u{1b}[31m");
        let text = page.text(
            Options {
                width: 80,
                colour: true,
            },
            true,
        );
        assert_eq!(text, "\u{fffd}\u{fffd}[31m\n");
    }
}
