//! `nicety compare`: old results beside new ones.

use std::path::{Path, PathBuf};

use nicety_compare::{Input, Options};
use nicety_model::compare::{Comparison, Metric};
use nicety_report::{html, json, tables_csv};

use crate::cli::compare::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::report::{prints, read_results, write};
use crate::runs::Kept;

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let mut kept = Kept::default();
    let old = side(&mut kept, &args.old_run, &args.old)?;
    let new = side(&mut kept, &args.new_run, &args.new)?;
    let options = Options {
        confidence: args.confidence,
        margin: args.margin,
        metrics: each_once(&args.metric),
    };
    let found = nicety_compare::compare(&old, &new, &options).map_err(Failure::usage)?;
    if let Some(file) = &args.html {
        write(file, |out| html(&found, out))?;
    }
    if prints(&args.format, [&args.html]) {
        output::report(
            &args.format,
            &found,
            |out| json::pretty("comparison", &found, out),
            |out| tables_csv(&found, out, true),
        )?;
    }
    Ok(exit(&found, args.strict))
}

fn exit(found: &Comparison, strict: bool) -> Exit {
    let counts = found.counts;
    let unjudged = counts.cannot_tell + counts.not_judged > 0
        || !found.only_old.is_empty()
        || !found.only_new.is_empty();
    if counts.regression() || (strict && unjudged) {
        Exit::Negative
    } else {
        Exit::Done
    }
}

fn side(kept: &mut Kept, first: &Path, more: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    std::iter::once(first)
        .chain(more.iter().map(PathBuf::as_path))
        .map(|path| {
            Ok(Input {
                source: path.display().to_string(),
                run: read_results(kept, path)?,
            })
        })
        .collect()
}

fn each_once(metrics: &[Metric]) -> Vec<Metric> {
    let mut metrics = metrics.to_vec();
    metrics.sort_unstable();
    metrics.dedup();
    metrics
}
