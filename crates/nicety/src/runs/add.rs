//! Keeping run directories.

use std::path::Path;

use anyhow::anyhow;
use nicety_compare::levels;
use nicety_history::{Added, History, NewRun};
use nicety_model::compare::Metric;
use nicety_model::history::Figure;
use nicety_report::plural;
use nicety_runner::assemble;
use nicety_store::RunContents;

use super::trend;
use crate::cli::runs::AddArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Keeps each directory in a transaction of its own: one that cannot be read keeps no other
/// from being kept.
pub fn run(store: &mut History, args: &AddArgs) -> Result<Exit, Failure> {
    let mut refused = Vec::new();
    for dir in &args.dirs {
        match keep(store, dir, &args.labels) {
            Ok(what) => output::say(&what),
            // The store itself fails for the others too.
            Err(failure) if failure.exit == Exit::Environment => return Err(failure),
            Err(failure) => refused.push(failure),
        }
    }
    let Some(last) = refused.pop() else {
        return Ok(Exit::Done);
    };
    for failure in &refused {
        output::error(failure);
    }
    match refused.len() {
        0 => Err(last),
        n => {
            output::error(&last);
            Err(Failure::usage(anyhow!(
                "{} of {} were not kept; see above",
                n + 1,
                plural(args.dirs.len(), "directory")
            )))
        }
    }
}

/// Keeps a directory, and says as what.
pub fn keep(store: &mut History, dir: &Path, labels: &[String]) -> Result<String, Failure> {
    let files = nicety_store::read_files(dir).map_err(Failure::usage)?;
    let contents = RunContents::from_files(dir, &files).map_err(Failure::usage)?;
    let run = assemble::run(contents)
        .map_err(|error| Failure::usage(anyhow!("{}: {error}", dir.display())))?;
    let new = NewRun {
        run: &run,
        files: &files,
        figures: &nicety_compare::figures(&run),
    };
    let added = store.add(&new, labels)?;
    if !matches!(added, Added::Same(_)) {
        mark(store, new.figures)?;
    }
    let what = match added {
        Added::New(id) => format!("run {id}: {}", dir.display()),
        Added::Replaced(id) => format!("run {id}: {}, brought up to date", dir.display()),
        Added::Same(id) => format!("run {id}: {}, was kept already", dir.display()),
    };
    Ok(if run.run.complete {
        what
    } else {
        format!("{what}; not complete, add it again when it is")
    })
}

/// Marks where the throughput of a run's cells changes over all runs.
fn mark(store: &mut History, figures: &[Figure]) -> Result<(), Failure> {
    let followed = figures.iter().filter(|f| f.metric == Metric::Throughput);
    for figure in followed {
        let judge = |points| levels::marks(&trend::comparable(&figure.cell, points));
        store.mark(&figure.cell, figure.metric, &judge)?;
    }
    Ok(())
}
