//! A document as Markdown with tables (GitHub Flavored Markdown), for wikis and merge requests.

use std::io::Write;

use nicety_model::visible::is_hidden;

use super::{Block, Cell, Document, Table};
use crate::error::{ReportError, write_text};

/// Columns for the picture of a path.
const ROUTES: usize = 96;

/// Writes the answer, then each section under its heading.
pub(crate) fn write(document: &Document, out: &mut impl Write) -> Result<(), ReportError> {
    let mut page = String::new();
    let heading =
        |level: usize, title: &str| format!("{} {}\n\n", "#".repeat(level), escape(title));
    page.push_str(&heading(document.level, &document.title));
    if let Some(host) = &document.host {
        page.push_str(&format!("{}\n\n", escape(host)));
    }
    if let Some(headline) = &document.headline {
        let (line, verdict) = (escape(&headline.line()), headline.badge.word);
        page.push_str(&format!("**{line}** ({verdict})\n\n"));
    }
    for (n, sentences) in document.answer.iter().enumerate() {
        let text = escape(&sentences.join(" "));
        // Under a number the sentences only explain it.
        if n == 0 && document.headline.is_none() {
            page.push_str(&format!("**{text}**\n\n"));
        } else {
            page.push_str(&format!("{text}\n\n"));
        }
    }
    blocks(&mut page, &document.opening);
    for section in &document.sections {
        page.push_str(&heading(document.level + 1, &section.title));
        blocks(&mut page, &section.blocks);
    }
    let end = page.trim_end().len();
    page.truncate(end);
    page.push('\n');
    write_text(out, "Markdown", &page)
}

fn blocks(page: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(text) | Block::Remark(text) => page.push_str(&escape(text)),
            Block::List(lines) => {
                let lines = lines.iter().map(|line| format!("- {}", escape(line)));
                page.push_str(&lines.collect::<Vec<_>>().join("\n"));
            }
            Block::Steps(title, steps) => {
                let steps = steps.iter().enumerate();
                let steps = steps.map(|(n, step)| format!("{}. {}", n + 1, escape(step)));
                let steps: Vec<String> = steps.collect();
                page.push_str(&format!("**{}**\n\n{}", escape(title), steps.join("\n")));
            }
            Block::Terms(terms) => {
                let line = |(term, meaning): &(Cell, String)| {
                    format!("- **{}**: {}", escape(&term.text), escape(meaning))
                };
                page.push_str(&terms.iter().map(line).collect::<Vec<_>>().join("\n"));
            }
            Block::Table(of) => table(page, of),
            Block::Routes(routes) => {
                let lines = routes.lines(ROUTES).into_iter();
                // Names are untrusted, and nothing in a code block can be escaped.
                let safe = |line: String| format!("    {}", line.replace('<', "‹"));
                let lines: Vec<String> = lines.map(safe).collect();
                page.push_str(&lines.join("\n"));
            }
            // An indented block needs no fence that the text could close.
            Block::Code(text) => {
                let lines = text.lines();
                let lines = lines.map(|line| format!("    {}", line.replace('\u{1b}', "\u{fffd}")));
                page.push_str(&lines.collect::<Vec<_>>().join("\n"));
            }
            Block::Folded(summary, inner) => {
                page.push_str(&format!(
                    "<details><summary>{}</summary>\n\n",
                    escape(summary)
                ));
                self::blocks(page, inner);
                page.push_str("</details>");
            }
            Block::Drawn(_) => continue,
        }
        page.push_str("\n\n");
    }
}

/// A line of a page as a paragraph.
pub(crate) fn paragraph(page: &mut String, line: &str) {
    if !line.is_empty() {
        page.push_str(&format!("{}\n\n", escape(line.trim())));
    }
}

/// The heading of a table.
pub(crate) fn heading(page: &mut String, title: &str) {
    page.push_str(&format!("## {}\n\n", escape(title.trim())));
}

pub(crate) fn table(page: &mut String, table: &Table) {
    record(page, table.head.iter().map(|(heading, _)| escape(heading)));
    // To which side a column leans.
    let sides = table.head.iter().map(|(_, kind)| {
        if kind.is_number() {
            "---:".to_owned()
        } else {
            ":---".to_owned()
        }
    });
    record(page, sides);
    for row in &table.rows {
        record(page, row.iter().map(field));
    }
    if table.legend.is_empty() {
        page.truncate(page.len() - 1);
    } else {
        page.push_str(&format!("\n{}", escape(&table.legend)));
    }
}

fn record(page: &mut String, fields: impl Iterator<Item = String>) {
    page.push('|');
    for field in fields {
        page.push_str(&format!(" {field} |"));
    }
    page.push('\n');
}

fn field(cell: &Cell) -> String {
    let extras = cell.extras();
    let text = escape(&cell.plain());
    if extras.badge.is_some_and(|badge| badge.loud) {
        return format!("**{text}**");
    }
    if extras.unit.is_empty() {
        text
    } else {
        format!("{text} {}", escape(&extras.unit))
    }
}

/// What HTML and XML write for a character that would be read as markup.
pub(crate) fn entity(c: char) -> &'static str {
    match c {
        '<' => "&lt;",
        '>' => "&gt;",
        _ => "&amp;",
    }
}

/// `text` with everything escaped that Markdown or HTML would read as markup, on one line.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' => escaped.push_str(entity(c)),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\n' | '\r' | '\t' => escaped.push(' '),
            c if is_hidden(c) => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}
