//! The command line of `nicety report` and `nicety explain`.

use std::path::PathBuf;

use clap::Args;

use super::bench::DemandArgs;
use super::heading;
use super::output::{FormatArgs, JsonArgs};

/// Below the help of `nicety report`.
pub const EXAMPLES: &str = "Examples:
  nicety report runs/mine                        the table again
  nicety report runs/mine --cell 2               one cell, by number, name or start of its name
  nicety report runs/mine --format md            Markdown, to read at once
  nicety report runs/mine --html report.html --csv cells.csv
  nicety report runs/mine --junit cells.xml      for a build server";

/// Below the help of `nicety explain`.
pub const EXPLAIN_EXAMPLES: &str = "Examples:
  nicety explain                       every code in a line
  nicety explain N014
  nicety explain rests                 the same, by name
  nicety explain P014                  a problem: why something was skipped or refused
  nicety explain -j | jq -r '.notes[] | select(.severity == \"warning\").code'";

/// `nicety report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directories.
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
    /// Write one row per cell as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub csv: Option<PathBuf>,
    /// Write CSV with one row per guest, for cells whose path several guests share; `-` is standard
    /// output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub guest_csv: Option<PathBuf>,
    /// Write what every path costs against the best as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub ranking_csv: Option<PathBuf>,
    /// Write one direction against both as CSV, by path and pins; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub direction_csv: Option<PathBuf>,
    /// Write one row per repeat of a socket test as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub sock_csv: Option<PathBuf>,
    /// Write Markdown; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub md: Option<PathBuf>,
    /// Write JUnit XML, a test case per cell; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub junit: Option<PathBuf>,
    /// Write metrics for node_exporter's textfile collector; `-` is standard output.
    #[arg(long, value_name = "FILE", alias = "openmetrics", help_heading = heading::OUTPUT)]
    pub prometheus: Option<PathBuf>,
    /// Which results make the exit code 1.
    #[command(flatten)]
    pub demand: DemandArgs,
}

/// `nicety explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Code or name of a note or a problem. Without one, list all.
    #[arg(value_name = "CODE", help_heading = heading::WHAT)]
    pub code: Option<String>,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}
