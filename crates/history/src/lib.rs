//! The history of runs: every run whole, labelled, found again and given back.
//!
//! [`open`] opens it by its name: a file, kept by SQLite, or the URL of a PostgreSQL server. Both have the same tables and
//! answer the same statements. A run is kept as the files of its directory, byte for byte and compressed, beside the
//! numbers for trends. Each change is one transaction: a kill leaves the old state or the new one.

mod book;
mod columns;
mod error;
mod history;
mod objects;
mod pack;
mod place;
mod prune;
mod runs;
mod schema;
mod statements;
mod trend;
mod usage;

use nicety_model::Run;
use nicety_model::history::{Figure, TrendChange, TrendPoint};
use nicety_store::RunFiles;

pub use book::KeptBook;
pub use error::HistoryError;
pub use history::{History, PATIENCE, open, open_with};
pub use place::{Caution, has_password};
pub use prune::outdated;

/// A run to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun<'a> {
    /// The run's facts.
    pub run: &'a Run,
    /// The files of its directory.
    pub files: &'a RunFiles,
    /// The numbers of its cells.
    pub figures: &'a [Figure],
}

/// What became of a run that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is new, with this number.
    New(i64),
    /// It was there already, with other contents: now it has these.
    Replaced(i64),
    /// It was there already, the same.
    Same(i64),
}

/// A point of a trend with what its run searched for.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryPoint {
    /// The number.
    pub point: TrendPoint,
    /// Search preset.
    pub preset: String,
    /// Loss goal.
    pub loss_goal: f64,
}

/// Where a cell's numbers change, given all of them, oldest first.
pub type Judge<'a> = &'a dyn Fn(Vec<HistoryPoint>) -> Vec<TrendChange>;
