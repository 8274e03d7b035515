//! A comparison of runs as terminal table, Markdown, JSON and a one-file HTML page.

mod html;
mod markdown;
mod row;
mod table;
mod words;

use std::io::Write;

use nicety_model::compare::Comparison;

use crate::error::{ReportError, write_text};

pub use html::render as html;
pub use markdown::render as markdown;
pub use table::render as table;

/// Writes the comparison as JSON, ended by a newline.
///
/// # Errors
/// [`ReportError::Json`], [`ReportError::Write`].
pub fn json(comparison: &Comparison, out: &mut impl Write) -> Result<(), ReportError> {
    let mut text = data(comparison, serde_json::to_string_pretty)?;
    text.push('\n');
    write_text(out, "JSON", &text)
}

fn data(
    comparison: &Comparison,
    write: fn(&Comparison) -> serde_json::Result<String>,
) -> Result<String, ReportError> {
    write(comparison).map_err(|source| ReportError::Json {
        name: "comparison".to_owned(),
        source,
    })
}
