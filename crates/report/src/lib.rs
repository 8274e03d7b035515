//! Renders results for terminals, as Markdown, CSV, JSON or one-file HTML pages.
//!
//! What a report says is written once, as a function from results to a `Document`; one back end per
//! format shows it and writes into the writer it is given. Reports pick and convert units; a number that
//! the model lacks is shown as absent, never worked out here. Names come from interfaces and plan files
//! and are untrusted: each back end escapes them for its format.

pub mod answer;
pub mod compare;
mod confidence;
pub mod csv;
mod directions;
mod document;
mod error;
mod estimate;
mod figure;
mod guests;
pub mod history;
pub mod host;
pub mod json;
pub mod junit;
pub mod measured;
mod note;
mod number;
pub mod openmetrics;
mod pick;
mod place;
pub mod policed;
mod ranking;
pub mod run;
pub mod sock;
mod threads;

pub use document::terminal::Options;
pub use error::ReportError;
