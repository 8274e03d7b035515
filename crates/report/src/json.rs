//! The run object as JSON, without its trials: those are in `trials.jsonl`.

use std::io::Write;

use nicety_model::Run;

use crate::error::{ReportError, write_text};

/// Layout of the JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Indented, for people.
    #[default]
    Pretty,
    /// One line, for pipes.
    Compact,
}

/// Writes the run without its trials, ended by a newline. Numbers that are not finite become
/// `null`.
///
/// # Errors
/// [`ReportError::Json`] when the run cannot be serialised, [`ReportError::Write`] when the
/// writer fails.
pub fn render(run: &Run, out: &mut impl Write, style: Style) -> Result<(), ReportError> {
    let mut text = text(run, style)?;
    text.push('\n');
    write_text(out, "JSON", &text)
}

/// The run without its trials as JSON text.
pub(crate) fn text(run: &Run, style: Style) -> Result<String, ReportError> {
    // Field by field, so that a run's trials (by far its largest part) are not copied.
    let light = Run {
        schema: run.schema,
        run: run.run.clone(),
        tester_limit_fps: run.tester_limit_fps.clone(),
        cells: run.cells.clone(),
        control: run.control.clone(),
        summary: run.summary.clone(),
        sockets: run.sockets.clone(),
        skipped: run.skipped.clone(),
        left_out: run.left_out.clone(),
        trials: Vec::new(),
    };
    match style {
        Style::Pretty => serde_json::to_string_pretty(&light),
        Style::Compact => serde_json::to_string(&light),
    }
    .map_err(|source| ReportError::Json {
        name: run.run.name.clone(),
        source,
    })
}
