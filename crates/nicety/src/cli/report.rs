//! The command line of `nicety report` and `nicety explain`.

use std::path::PathBuf;

use clap::Args;

use super::bench::DemandArgs;
use super::heading;
use super::output::{FormatArgs, JsonArgs};

/// Below the help of `nicety report`.
pub const EXAMPLES: &str = "Examples:
  nicety report runs/mine                        the table again
  nicety report 12                               a kept run, see nicety runs list
  nicety report runs/mine --cell 2               one cell, by number, name or start of its name
  nicety report runs/mine --format md            Markdown, to read at once
  nicety report runs/mine --html report.html --csv cells=cells.csv
  nicety report runs/mine --junit cells.xml      for a build server";

/// Below the help of `nicety explain`.
pub const EXPLAIN_EXAMPLES: &str = "Examples:
  nicety explain                       every code in a line
  nicety explain N014                  a note: what to know about a number
  nicety explain rests                 the same, by name
  nicety explain P014                  a problem: why something was skipped or refused
  nicety explain T04                   a rule of nicety tune plan
  nicety explain T                     all rules
  nicety explain -j | jq -r '.notes[] | select(.severity == \"warning\").code'";

/// `nicety report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directories, or kept runs by number or name, of the store that $NICETY_STORE names (default
    /// runs/history.sqlite).
    #[arg(required = true, value_name = "RUN", help_heading = heading::WHAT)]
    pub runs: Vec<PathBuf>,
    /// Show this cell only: its name, the start of its name, or its number in the list of results.
    #[arg(long, value_name = "CELL", help_heading = heading::WHAT)]
    pub cell: Option<String>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write the HTML report to this file; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub html: Option<PathBuf>,
    /// Write a table as CSV to a file, as in cells=cells.csv; `-` is standard output. May be repeated.
    /// cells has a row per cell, visits one per visit of a cell. guests has one per guest that shares a path, sockets
    /// one per repeat of a test.
    /// ranking has what every path costs against the best, directions one direction against both.
    #[arg(long, value_name = "TABLE=FILE", value_parser = table, help_heading = heading::OUTPUT)]
    pub csv: Vec<(Table, PathBuf)>,
    /// Write JUnit XML, a test case per cell; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub junit: Option<PathBuf>,
    /// Write metrics for node_exporter's textfile collector; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub prometheus: Option<PathBuf>,
    /// Which results make the exit code 1.
    #[command(flatten)]
    pub demand: DemandArgs,
}

/// A table of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// A row per cell.
    Cells,
    /// A row per visit of a cell.
    Visits,
    /// A row per guest that shares a path.
    Guests,
    /// What every path costs against the best.
    Ranking,
    /// One direction against both, by path and pins.
    Directions,
    /// A row per repeat of a socket test.
    Sockets,
}

impl Table {
    const WORDS: [(&str, Self); 6] = [
        ("cells", Self::Cells),
        ("visits", Self::Visits),
        ("guests", Self::Guests),
        ("ranking", Self::Ranking),
        ("directions", Self::Directions),
        ("sockets", Self::Sockets),
    ];
}

fn table(text: &str) -> Result<(Table, PathBuf), String> {
    let named = text.split_once('=').and_then(|(word, file)| {
        let (_, table) = Table::WORDS.iter().find(|(known, _)| *known == word)?;
        (!file.is_empty()).then(|| (*table, PathBuf::from(file)))
    });
    named.ok_or_else(|| {
        let words = Table::WORDS.map(|(word, _)| word).join(", ");
        format!("{text:?} names no table and file; write one of {words}, then = and a file, as in cells=cells.csv")
    })
}

/// `nicety explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Code or name of a note, a problem or a rule; N, P or T lists these. Without one, list all.
    #[arg(value_name = "CODE", help_heading = heading::WHAT)]
    pub code: Option<String>,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}
