//! Renders results for terminals, as Markdown, CSV, JSON or one-file HTML pages.
//!
//! What a report says is written once, as a function from results to a `Document`; one back end per
//! format shows it and writes into the writer it is given. Reports pick and convert units; a number that
//! the model lacks is shown as absent, never worked out here. Names come from interfaces and plan files
//! and are untrusted: each back end escapes them for its format.

pub mod advice;
pub mod answer;
pub mod bill;
mod brief;
mod compare;
mod confidence;
pub mod csv;
mod directions;
mod document;
pub mod drops;
mod error;
mod estimate;
pub mod facts;
mod fate;
mod figure;
mod fleet;
mod guests;
mod history;
mod hops;
pub mod host;
pub mod json;
pub mod junit;
pub mod live;
pub mod load;
pub mod measured;
pub mod metric;
mod note;
pub mod page;
mod pick;
mod place;
pub mod police;
pub mod policed;
pub mod probe;
pub mod prometheus;
mod ranking;
pub mod remedy;
mod route;
pub mod rules;
mod run;
pub mod skips;
pub mod soak;
pub mod sock;
pub mod stateful;
mod threads;
pub mod trace;
pub mod transactions;
pub mod vf;
mod waterfall;

use std::io::Write;

use document::{Document, Medium};
use nicety_model::{Run, number};

pub use brief::Brief;
pub use document::terminal::Options;
pub use error::ReportError;
pub use number::{first_few, plural, short};

/// Results that have a report: a run, a comparison, a trend, a list of runs, socket workloads, a record
/// of the police.
pub trait Report {
    /// What the report says, for where it is shown.
    ///
    /// # Errors
    /// [`ReportError::Json`] when the data of a page cannot be embedded.
    fn document(&self, medium: Medium) -> Result<Document, ReportError>;
}

/// Writes the report for a terminal. Columns that do not fit are named and left out, or listed below
/// their table; control characters in names are replaced.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn table(
    report: &(impl Report + ?Sized),
    out: &mut impl Write,
    options: Options,
) -> Result<(), ReportError> {
    document::terminal::write(&report.document(Medium::Terminal)?, out, options)
}

/// Writes the rows of the report's own tables, without headers and sentences: for scripts.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn rows(
    report: &(impl Report + ?Sized),
    out: &mut impl Write,
    options: Options,
) -> Result<(), ReportError> {
    document::terminal::write_rows(&report.document(Medium::Terminal)?, out, options)
}

/// Writes the report's own tables as CSV; numbers that are not grouped where the table has them.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn tables_csv(
    report: &impl Report,
    out: &mut impl Write,
    header: bool,
) -> Result<(), ReportError> {
    let document = report.document(Medium::Markdown)?;
    let text = document::csv::tables(&document.main_tables(), header)?;
    error::write_text(out, "CSV", &text)
}

/// The cells of a run that have results, in the order in which reports list them: the number of a cell is
/// its place from 1.
pub fn cells(run: &Run) -> Vec<String> {
    let groups = pick::groups(run);
    let frames = groups.iter().map(|group| group.name.to_owned());
    let sockets = run.sockets.iter().map(|series| series.name.clone());
    frames.chain(sockets).collect()
}

/// Writes the report as GitHub Flavored Markdown.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn markdown(report: &(impl Report + ?Sized), out: &mut impl Write) -> Result<(), ReportError> {
    document::markdown::write(&report.document(Medium::Markdown)?, out)
}

/// Writes the report as one self-contained HTML file.
///
/// # Errors
/// [`ReportError::Json`] when the data cannot be embedded, [`ReportError::Write`] when the writer
/// fails.
pub fn html(report: &impl Report, out: &mut impl Write) -> Result<(), ReportError> {
    document::html::write(&report.document(Medium::Page)?, out)
}
