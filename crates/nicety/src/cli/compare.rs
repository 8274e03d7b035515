//! The command line of `nicety compare`.

use std::path::PathBuf;

use clap::Args;
use nicety_model::compare::Metric;

use super::output::FormatArgs;
use super::{heading, words};

/// Below the help of `nicety compare`.
pub const EXAMPLES: &str = "A cell is judged when all its results have the verdict ok. It is better \
or worse when the change is larger than the margin and chance is an unlikely cause. More cells need \
stronger evidence. It is the same when the whole interval of the change lies within the margin.

Exit codes: 0 nothing got worse; 1 a cell got worse or lost its result, or with --strict could \
not be judged; 2 not comparable, with the reason; 3 the output cannot be written.

Examples:
  nicety compare runs/before runs/after
  nicety compare 12 runs/after                         with a kept run
  nicety compare runs/a1 runs/b1 --old runs/a2 --new runs/b2
  nicety compare old.json new.json --format md         what bench --json printed
  nicety compare runs/before runs/after --metric cpu --margin 5%";

/// `nicety compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Run before: a directory, the number or name of a kept run, or a file that --json wrote.
    #[arg(value_name = "OLD", help_heading = heading::WHAT)]
    pub old_run: PathBuf,
    /// Run after.
    #[arg(value_name = "NEW", help_heading = heading::WHAT)]
    pub new_run: PathBuf,
    /// Add one more run before; may be repeated. With several runs on both sides, the spread between
    /// runs counts too.
    #[arg(long, value_name = "RUN", help_heading = heading::WHAT)]
    pub old: Vec<PathBuf>,
    /// Add one more run after; may be repeated.
    #[arg(long, value_name = "RUN", help_heading = heading::WHAT)]
    pub new: Vec<PathBuf>,
    /// Compare these numbers; several with commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = words::METRIC, default_value = "throughput", help_heading = heading::HOW)]
    pub metric: Vec<Metric>,
    /// Use this confidence for intervals and judgement, as a share.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.95", help_heading = heading::HOW)]
    pub confidence: f64,
    /// Ignore changes up to this share.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.03", help_heading = heading::HOW)]
    pub margin: f64,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write an HTML page to this file; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub html: Option<PathBuf>,
    /// Exit with 1 also when a cell could not be judged, or is on one side only.
    #[arg(long, help_heading = heading::EXIT)]
    pub strict: bool,
}

/// `--confidence` and `--margin`: `0.95` or `95%`.
pub fn share(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|value| value / 100.0),
        None => text.parse(),
    };
    match number {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err(format!(
            "{text:?} is not a share; write a number between 0 and 1, as in 0.03, or per cent, as in 3%"
        )),
    }
}
