//! The history of runs: every run whole, labelled, found again, pruned and given back.
//!
//! [`History`] is the interface of a store; [`Sqlite`] keeps everything in one file, [`Postgres`] on
//! a server. [`open`] picks one by its name. A run is kept as the files of its directory, byte for
//! byte and compressed, beside the numbers for trends. Each change is one transaction: a kill leaves
//! the old state or the new one.

mod error;
mod pack;
mod postgres;
mod prune;
mod schema;
mod sqlite;
mod usage;

use std::ops::Range;
use std::path::Path;

use nicety_model::Run;
use nicety_model::bill::UsageRow;
use nicety_model::compare::Metric;
use nicety_model::history::{Figure, KeptRun, TrendChange, TrendPoint};
use nicety_store::RunFiles;

pub use self::postgres::{
    Caution, Environment, PATIENCE, Postgres, TlsTrouble, has_password, is_url,
};
pub use error::HistoryError;
pub use prune::outdated;
pub use sqlite::Sqlite;
pub use usage::KeptBook;

/// Separates parts of one text; none of them contains it.
const BETWEEN: char = '\u{1f}';

/// Finds one figure for each cell of a run: none for its further loss goals.
const OF_CELLS: &str = "metric = 'throughput' AND cell NOT LIKE '%/goal=%'";

/// Opens the store that a name means: a file, or a PostgreSQL server by URL, for which `environment`
/// has what the URL leaves open. It must be there unless `make` is set.
///
/// # Errors
/// [`HistoryError`].
pub fn open(
    place: &Path,
    environment: &Environment,
    make: bool,
) -> Result<Box<dyn History>, HistoryError> {
    match place.to_str() {
        Some(url) if is_url(url) => Ok(Box::new(Postgres::open(url, environment, make, PATIENCE)?)),
        Some(url) if url.contains("://") => Err(HistoryError::BadUrl {
            url: self::postgres::without_password(url),
            why: "no store of this kind is known".to_owned(),
        }),
        _ if make => Ok(Box::new(Sqlite::open_or_create(place)?)),
        _ => Ok(Box::new(Sqlite::open(place)?)),
    }
}

/// By what a run is known again.
fn identity(run: &Run) -> String {
    let head = &run.run;
    let parts = [
        head.started.as_str(),
        &head.seed.to_string(),
        &head.name,
        &head.command,
    ];
    parts.join(&BETWEEN.to_string())
}

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

impl Added {
    /// For a run that now has the number `id`, that was `known` before, then perhaps the `same`.
    fn of(id: i64, known: bool, same: bool) -> Self {
        match (known, same) {
            (false, _) => Self::New(id),
            (true, true) => Self::Same(id),
            (true, false) => Self::Replaced(id),
        }
    }
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

/// Where runs are kept.
pub trait History {
    /// Where it is, for the reader.
    fn place(&self) -> String;

    /// What to tell whoever opened it.
    fn cautions(&self) -> &[Caution] {
        &[]
    }

    /// Keeps a run with more labels. A run is known again by its start, seed, plan and command.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing has changed then.
    fn add(&mut self, run: &NewRun<'_>, labels: &[String]) -> Result<Added, HistoryError>;

    /// All runs, newest first.
    ///
    /// # Errors
    /// [`HistoryError`].
    fn list(&self) -> Result<Vec<KeptRun>, HistoryError>;

    /// The files of a run's directory.
    ///
    /// # Errors
    /// [`HistoryError::NoRun`], [`HistoryError`].
    fn files(&self, id: i64) -> Result<RunFiles, HistoryError>;

    /// As [`History::files`], without the trials: they are by far the largest.
    ///
    /// # Errors
    /// As those of [`History::files`].
    fn results(&self, id: i64) -> Result<RunFiles, HistoryError>;

    /// A cell's numbers over all runs that have it, oldest first.
    ///
    /// # Errors
    /// [`HistoryError`].
    fn points(&self, cell: &str, metric: Metric) -> Result<Vec<HistoryPoint>, HistoryError>;

    /// Keeps where a cell's numbers change beside them, for dashboards, in the place of what was
    /// kept before. A store that no dashboard reads does nothing.
    ///
    /// # Errors
    /// [`HistoryError`].
    fn mark(&mut self, _: &str, _: Metric, _: Judge<'_>) -> Result<(), HistoryError> {
        Ok(())
    }

    /// Names of all cells, sorted.
    ///
    /// # Errors
    /// [`HistoryError`].
    fn cells(&self) -> Result<Vec<String>, HistoryError>;

    /// Gives labels to runs and takes others away.
    ///
    /// # Errors
    /// [`HistoryError::NoRun`] when a run is not there; nothing has changed then.
    fn label(&mut self, ids: &[i64], add: &[String], remove: &[String])
    -> Result<(), HistoryError>;

    /// Forgets runs, and gives their space back.
    ///
    /// # Errors
    /// [`HistoryError::NoRun`] when one is not there; nothing has changed then.
    fn remove(&mut self, ids: &[i64]) -> Result<(), HistoryError>;

    /// Keeps what tenants have used, in the place of what was kept of the same slots.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing has changed then.
    fn keep_usage(&mut self, rows: &[UsageRow]) -> Result<(), HistoryError>;

    /// What tenants have used in slots that begin in this time, in seconds since 1970; all tenants or one.
    ///
    /// # Errors
    /// [`HistoryError`].
    fn usage(&self, time: Range<i64>, tenant: Option<&str>) -> Result<Vec<UsageRow>, HistoryError>;
}
