//! The command line of `nicety runs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::compare::Metric;

use super::compare::metric;
use super::parsed;

/// Below the help of `nicety runs`.
pub const EXAMPLES: &str =
    "Runs are kept whole, in one SQLite file: runs/history.sqlite, or what --store or the \
environment variable NICETY_STORE names. A team keeps its runs on a PostgreSQL server: \
postgres://USER@HOST/DATABASE, the password in PGPASSWORD or PGPASSFILE.

Examples:
  nicety runs add runs/2026* --label nightly
  nicety runs list
  nicety runs trend bridge/64/uni            how a cell changed, and with which run
  nicety runs label 12 release-1.4
  nicety runs prune --keep 100               labelled runs stay
  nicety runs export 12 /tmp/run12           a run directory again
  nicety runs list --store postgres://bench@db/nicety";

/// `nicety runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// File that holds the runs, or URL of a PostgreSQL database.
    #[arg(long, global = true, value_name = "FILE|URL")]
    pub store: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: RunsCommand,
}

/// What can be done with kept runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Keeps run directories; one that is kept already is brought up to date.
    Add(AddArgs),
    /// Lists the runs, newest first.
    List(ListArgs),
    /// Prints the results of a run.
    Show(ShowArgs),
    /// Shows a cell over all runs, and where its level changes.
    Trend(TrendArgs),
    /// Gives labels to runs, or takes them away.
    Label(LabelArgs),
    /// Forgets old runs without labels.
    Prune(PruneArgs),
    /// Writes a run back as a run directory.
    Export(ExportArgs),
}

/// `nicety runs add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Run directories.
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Label of these runs; may be repeated.
    #[arg(long = "label", value_name = "LABEL", value_parser = label)]
    pub labels: Vec<String>,
}

/// `nicety runs list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only runs with this label.
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Only runs of plans with this name.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Print the list as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `nicety runs show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Number of the run, from nicety runs list.
    #[arg(value_name = "RUN", value_parser = number)]
    pub run: i64,
    /// Print the run as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `nicety runs trend`.
#[derive(Debug, Args)]
pub struct TrendArgs {
    /// Name of the cell, as in bridge/64/uni.
    #[arg(value_name = "CELL")]
    pub cell: String,
    /// What of it: throughput, latency-p50, latency-p99 or cpu.
    #[arg(long, value_name = "NAME", value_parser = metric, default_value = "throughput")]
    pub metric: Metric,
    /// Only runs with this label.
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Write the trend as an HTML page to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the trend as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `nicety runs label`.
#[derive(Debug, Args)]
pub struct LabelArgs {
    /// Number of the run.
    #[arg(value_name = "RUN", value_parser = number)]
    pub run: i64,
    /// Labels to give.
    #[arg(value_name = "LABEL", value_parser = label, required_unless_present = "remove")]
    pub labels: Vec<String>,
    /// Label to take away; may be repeated.
    #[arg(long, value_name = "LABEL")]
    pub remove: Vec<String>,
}

/// `nicety runs prune`.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Keep this many of the newest runs of each plan name.
    #[arg(long, value_name = "N", required_unless_present = "older_than", value_parser = keep)]
    pub keep: Option<usize>,
    /// Forget only runs older than this, as in 90d or 12h.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: Option<Duration>,
    /// Forget labelled runs as well.
    #[arg(long)]
    pub labelled: bool,
    /// Say what would be forgotten, and forget nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// `nicety runs export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Number of the run.
    #[arg(value_name = "RUN", value_parser = number)]
    pub run: i64,
    /// Directory to write; must be new or empty.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// Longest label in bytes.
const LABEL_BYTES: usize = 100;

fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > LABEL_BYTES || text.chars().any(char::is_control) {
        return Err(format!(
            "{text:?} is no label; write up to {LABEL_BYTES} bytes without control characters"
        ));
    }
    Ok(text.to_owned())
}

fn number(text: &str) -> Result<i64, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("{text:?} is no run; write its number as nicety runs list shows it"))
}

fn keep(text: &str) -> Result<usize, String> {
    parsed(
        text,
        "is no number of runs; write a whole number, as in 100",
    )
}

/// Ages in days too, which durations of measurements do not have.
fn age(text: &str) -> Result<Duration, String> {
    const DAY_S: u64 = 24 * 3600;
    const MOST_DAYS: u64 = 100_000;
    let wrong = || format!("{text:?} is no age; write a number and h or d, as in 90d");
    let (number, unit_s) = match text.strip_suffix('d') {
        Some(days) => (days, DAY_S),
        None => (text.strip_suffix('h').ok_or_else(wrong)?, 3600),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    if number > MOST_DAYS {
        return Err(wrong());
    }
    Ok(Duration::from_secs(number * unit_s))
}
