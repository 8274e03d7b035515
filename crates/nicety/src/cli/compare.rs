//! The command line of `nicety compare`.

use std::path::PathBuf;

use clap::Args;
use nicety_model::compare::Metric;

/// Below the help of `nicety compare`.
pub const EXAMPLES: &str = "A cell is judged when all its results have the verdict ok. It is \
better or worse when the change is larger than the margin and chance is an unlikely cause, given \
how many cells there are; the same when the whole interval of the change lies within the margin.

Exit codes: 0 nothing got worse; 1 a cell got worse, or lost its result, or with --strict could \
not be judged; 2 not comparable, with the reason; 3 the output cannot be written.

Examples:
  nicety compare runs/before runs/after
  nicety compare runs/a1 runs/b1 --old runs/a2 --new runs/b2
  nicety compare old.json new.json --md comment.md     what bench --json printed
  nicety compare runs/before runs/after --metric cpu --margin 5%";

/// `nicety compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Run before: a directory, or a file that --json wrote.
    #[arg(value_name = "OLD")]
    pub old_run: PathBuf,
    /// Run after.
    #[arg(value_name = "NEW")]
    pub new_run: PathBuf,
    /// One more run before; may be repeated. With several runs on both sides the spread between
    /// runs counts, which repeats of one run do not show.
    #[arg(long, value_name = "RUN")]
    pub old: Vec<PathBuf>,
    /// One more run after; may be repeated.
    #[arg(long, value_name = "RUN")]
    pub new: Vec<PathBuf>,
    /// What to compare: throughput, latency-p50, latency-p99, cpu; several with commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = metric, default_value = "throughput")]
    pub metric: Vec<Metric>,
    /// Confidence of the intervals and of the judgement, as a share.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.95")]
    pub confidence: f64,
    /// Change that does not matter, as a share.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.03")]
    pub margin: f64,
    /// Exit with 1 also when a cell could not be judged, or is on one side only.
    #[arg(long)]
    pub strict: bool,
    /// Write an HTML page to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write Markdown for a pull request to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Print the comparison as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `--metric`.
pub fn metric(text: &str) -> Result<Metric, String> {
    Metric::of(text).ok_or_else(|| {
        let words = Metric::ALL.map(Metric::word).join(", ");
        format!("unknown number {text:?}; write one of {words}")
    })
}

/// `--confidence` and `--margin`: `0.95` or `95%`.
fn share(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|value| value / 100.0),
        None => text.parse(),
    };
    match number {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err(format!(
            "{text:?} is no share; write a number between 0 and 1, as in 0.03, or per cent, as in 3%"
        )),
    }
}
