//! The command line of `nicety runs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::compare::Metric;

use super::output::FormatArgs;
use super::{heading, parsed, words};

/// Below the help of `nicety runs`.
pub const EXAMPLES: &str = "Runs are kept whole, in one SQLite file: runs/history.sqlite, or what --store or \
$NICETY_STORE names. A team keeps its runs on a PostgreSQL server: postgres://USER@HOST/DATABASE, with \
the password in PGPASSFILE or PGPASSWORD. Encrypt the connection with \
?sslmode=verify-full&sslrootcert=FILE; variables and files are those of libpq.

Examples:
  nicety runs add runs/2026* --label nightly
  nicety runs list
  nicety runs trend bridge/64/uni            how a cell changed, and with which run
  nicety runs rm --keep 100                  labelled runs stay
  nicety report 12                           a kept run, by its number
  nicety runs list --store postgres://bench@db/nicety";

const ADD_EXAMPLES: &str = "Examples:
  nicety runs add runs/mine
  nicety runs add runs/2026* --label nightly
  nicety runs add runs/mine --label release-1.4    one that is kept: one label more";

const LIST_EXAMPLES: &str = "Examples:
  nicety runs list
  nicety runs list --label nightly
  nicety runs list --format csv --no-header | cut -d, -f1";

const TREND_EXAMPLES: &str = "Examples:
  nicety runs trend                          the cells, with their numbers
  nicety runs trend 3                        cell 3 of that list
  nicety runs trend bridge/64                the only cell whose name begins so
  nicety runs trend bridge/64/uni --goal PDR  a looser loss goal than the strictest
  nicety runs trend bridge/64/uni --metric latency-p99 --html trend.html";

const RM_EXAMPLES: &str = "Examples:
  nicety runs rm 12
  nicety runs rm --keep 100 --dry-run
  nicety runs rm --older-than 90d";

/// `nicety runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Use this file, or this URL of a PostgreSQL database. Default: $NICETY_STORE, else
    /// runs/history.sqlite.
    #[arg(long, global = true, value_name = "FILE|URL", help_heading = heading::WHAT)]
    pub store: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: RunsCommand,
}

/// What can be done with kept runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Keep run directories, or update those that are kept already.
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddArgs),
    /// List the runs, newest first.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Show a cell over all runs, and where its level changes.
    #[command(after_help = TREND_EXAMPLES)]
    Trend(TrendArgs),
    /// Delete runs: some by number, or old ones without labels.
    #[command(after_help = RM_EXAMPLES)]
    Rm(RmArgs),
}

/// `nicety runs add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Run directories.
    #[arg(required = true, value_name = "DIR", help_heading = heading::WHAT)]
    pub dirs: Vec<PathBuf>,
    /// Give these runs a label; may be repeated.
    #[arg(long = "label", value_name = "LABEL", value_parser = label, help_heading = heading::HOW)]
    pub labels: Vec<String>,
}

/// `nicety runs list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// List only runs with this label.
    #[arg(long, value_name = "LABEL", help_heading = heading::WHAT)]
    pub label: Option<String>,
    /// List only runs of plans with this name.
    #[arg(value_name = "NAME", help_heading = heading::WHAT)]
    pub name: Option<String>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nicety runs trend`.
#[derive(Debug, Args)]
pub struct TrendArgs {
    /// Cell: its name, the start of its name, or its number. Without one, list the cells.
    #[arg(value_name = "CELL", help_heading = heading::WHAT)]
    pub cell: Option<String>,
    /// Show only runs with this label.
    #[arg(long, value_name = "LABEL", help_heading = heading::WHAT)]
    pub label: Option<String>,
    /// Follow this loss goal, where the runs have several. Default: the strictest.
    #[arg(long, value_name = "NAME", requires = "cell", help_heading = heading::WHAT)]
    pub goal: Option<String>,
    /// Follow this number.
    #[arg(long, value_name = "NAME", value_parser = words::METRIC, default_value = "throughput", help_heading = heading::HOW)]
    pub metric: Metric,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write the trend as an HTML page to this file; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub html: Option<PathBuf>,
}

/// `nicety runs rm`.
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Numbers of runs, from nicety runs list.
    #[arg(
        value_name = "RUN",
        value_parser = number,
        required_unless_present_any = ["keep", "older_than"],
        conflicts_with_all = ["keep", "older_than", "force"],
        help_heading = heading::WHAT
    )]
    pub runs: Vec<i64>,
    /// Keep this many of the newest runs of each plan name.
    #[arg(long, value_name = "N", value_parser = keep, help_heading = heading::WHAT)]
    pub keep: Option<usize>,
    /// Delete only runs older than this, as in 90d or 12h.
    #[arg(long, value_name = "AGE", value_parser = age, help_heading = heading::WHAT)]
    pub older_than: Option<Duration>,
    /// Delete labelled runs too.
    #[arg(long, help_heading = heading::WHAT)]
    pub force: bool,
    /// Show what would be deleted, and delete nothing.
    #[arg(long, help_heading = heading::HOW)]
    pub dry_run: bool,
}

/// Longest label in bytes.
const LABEL_BYTES: usize = 100;

/// A label of runs.
pub fn label(text: &str) -> Result<String, String> {
    if text.is_empty()
        || text.len() > LABEL_BYTES
        || text.chars().any(nicety_model::visible::is_hidden)
    {
        return Err(format!(
            "{text:?} is not a label; write up to {LABEL_BYTES} bytes without control characters"
        ));
    }
    Ok(text.to_owned())
}

fn number(text: &str) -> Result<i64, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| {
            format!("{text:?} is not a run; write its number as nicety runs list shows it")
        })
}

fn keep(text: &str) -> Result<usize, String> {
    parsed(
        text,
        "is not a number of runs; write a whole number, as in 100",
    )
}

/// Ages in days too, which durations of measurements do not have.
fn age(text: &str) -> Result<Duration, String> {
    const DAY_S: u64 = 24 * 3600;
    const MOST_DAYS: u64 = 100_000;
    let wrong = || format!("{text:?} is not an age; write a number and h or d, as in 90d");
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
