//! A page of headed tables for a terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};

use crate::document::Cell;
use crate::document::table::Of;

/// Text that grows section by section.
#[derive(Debug)]
pub struct Page {
    text: String,
    width: u16,
}

impl Page {
    /// An empty page of so many columns, 40 at least.
    pub fn new(width: u16) -> Self {
        Self {
            text: String::new(),
            width: width.max(40),
        }
    }

    /// A line of its own. Names come from outside: control characters are replaced.
    pub fn line(&mut self, text: &str) {
        self.text.push_str(&clean(text));
        self.text.push('\n');
    }

    /// A table below a heading; nothing when it has no rows. Columns that are empty in every row
    /// are left out.
    pub(crate) fn rows<T>(
        &mut self,
        heading: &str,
        rows: impl IntoIterator<Item = T>,
        columns: &[Of<'_, T>],
    ) {
        let field = |cell: Cell| match cell.is_absent() {
            true => String::new(),
            false => cell.text,
        };
        let row = |row: T| columns.iter().map(|(.., cell)| field(cell(&row))).collect();
        let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
        if rows.is_empty() {
            return;
        }
        self.line("");
        self.line(heading);
        let used = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
        let kept: Vec<usize> = (0..columns.len()).filter(used).collect();
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(self.width);
        table.set_header(kept.iter().map(|&column| columns[column].0));
        for row in &rows {
            table.add_row(kept.iter().map(|&column| clean(&row[column])));
        }
        for line in table.to_string().lines() {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Everything written so far.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Without control characters.
pub(crate) fn clean(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// Text of a value that may be absent.
pub fn said<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
