//! What can go wrong while rendering.

use std::io::{self, Write};

/// Why a report could not be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The writer refused the text.
    #[error(
        "cannot write the {format} report: {source}; check free space and permissions of the output"
    )]
    Write {
        /// Format of the report.
        format: &'static str,
        /// What the writer said.
        source: io::Error,
    },
    /// A row could not be turned into CSV.
    #[error("cannot write the CSV row of {row}: {reason}")]
    Csv {
        /// Cell whose row failed, or `the header`.
        row: String,
        /// What the CSV writer said.
        reason: String,
    },
    /// The run could not be turned into JSON.
    #[error("cannot turn the run {name} into JSON: {source}")]
    Json {
        /// Name of the run.
        name: String,
        /// What the serialiser said.
        source: serde_json::Error,
    },
}

impl ReportError {
    /// Whether the reader of the output went away, as `head` does: no fault of the report.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Writes the finished text of a report.
pub(crate) fn write_text(
    out: &mut impl Write,
    format: &'static str,
    text: &str,
) -> Result<(), ReportError> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| ReportError::Write { format, source })
}
