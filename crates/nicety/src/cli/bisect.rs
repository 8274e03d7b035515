//! `nicety bisect` on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use nicety_model::compare::Metric;

use super::{heading, words};

/// Below the help of `nicety bisect`.
pub const EXAMPLES: &str = "COMMAND builds and measures what is checked out: it prints what nicety bench --json prints, or \
writes a run directory in place of {}. It runs until it is sure which side its results are like. Its failure \
cannot be judged. Write the whole line behind git bisect run.

Examples:
  nicety bench plan.toml -o runs/good       at a revision that was fast
  nicety bench plan.toml -o runs/bad        at one that is slow
  nicety bisect --good runs/good --bad runs/bad -- nicety bench plan.toml -o {}
  nicety bisect --good runs/good --bad runs/bad -- sh -c 'make && nicety bench plan.toml -o {}'

Exit codes, those of git bisect run: 0 good; 1 bad; 125 cannot tell, skip it; 129 anything wrong, \
which ends the bisection; 130 interrupted.";

/// `nicety bisect`.
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// Run of a good revision: a directory, or a file that --json wrote. Repeat it for several, which is surer.
    #[arg(long, value_name = "RUN", required = true, help_heading = heading::WHAT)]
    pub good: Vec<PathBuf>,
    /// Run of a bad revision; may be repeated.
    #[arg(long, value_name = "RUN", required = true, help_heading = heading::WHAT)]
    pub bad: Vec<PathBuf>,
    /// Judge this cell: its name, the start of its name, or its number. Default: the one that got worse most
    /// clearly.
    #[arg(long, value_name = "CELL", help_heading = heading::WHAT)]
    pub cell: Option<String>,
    /// Judge this number.
    #[arg(long, value_name = "NAME", value_parser = words::METRIC, default_value = "throughput", help_heading = heading::HOW)]
    pub metric: Metric,
    /// Take a side with at least this confidence.
    #[arg(long = "confidence", value_name = "SHARE", value_parser = error, default_value = "0.95", help_heading = heading::HOW)]
    pub error: f64,
    /// Give up after N measurements.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1000), help_heading = heading::HOW)]
    pub most: u32,
    /// Print one JSON object on standard output.
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub json: bool,
    /// The command and its arguments; {} stands for a new directory.
    #[arg(required = true, last = true, value_name = "COMMAND", help_heading = heading::WHAT)]
    pub command: Vec<OsString>,
}

/// `--confidence`, of which the rest is the chance of a wrong answer. Below a half, nothing would be said.
fn error(text: &str) -> Result<f64, String> {
    match super::compare::share(text) {
        Ok(share) if (0.5..=1.0 - 1e-6).contains(&share) => Ok(1.0 - share),
        _ => Err(format!(
            "{text:?} is not a confidence; write a share from a half on, as in 0.95 or 95%"
        )),
    }
}
