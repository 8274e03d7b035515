//! `nicety runs`: the history of runs.

mod add;
mod prune;
mod trend;

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_history::{History, HistoryError, Sqlite};
use nicety_model::history::RunList;
use nicety_model::{Run, SCHEMA};
use nicety_report::history as render;
use nicety_store::RunContents;

use crate::bench::assemble;
use crate::cli::runs::{ExportArgs, LabelArgs, ListArgs, RunsArgs, RunsCommand, ShowArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::report::{print_json, print_table, rendered};

/// Where runs are kept when nobody says, beside the run directories.
const STORE: &str = "runs/history.sqlite";
/// Names the store where `--store` does not.
const VARIABLE: &str = "NICETY_STORE";

/// Runs the command.
pub fn run(args: &RunsArgs) -> Result<Exit, Failure> {
    let path = place(args.store.as_deref())?;
    let existing = || Sqlite::open(&path).map_err(failure);
    match &args.command {
        RunsCommand::Add(args) => {
            let mut store = Sqlite::open_or_create(&path).map_err(failure)?;
            add::run(&mut store, args)
        }
        RunsCommand::List(args) => list(&existing()?, args),
        RunsCommand::Show(args) => show(&existing()?, args),
        RunsCommand::Trend(args) => trend::run(&existing()?, args),
        RunsCommand::Label(args) => label(&mut existing()?, args),
        RunsCommand::Prune(args) => prune::run(&mut existing()?, args),
        RunsCommand::Export(args) => export(&existing()?, args),
    }
}

/// The store's file.
fn place(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => value.into(),
            None => STORE.into(),
        },
    };
    if path.to_string_lossy().contains("://") {
        return Err(Failure::usage(anyhow!(
            "this version keeps runs in a SQLite file, not in {}; name a file",
            path.display()
        )));
    }
    Ok(path)
}

/// What a failing store means for the exit code.
fn failure(error: HistoryError) -> Failure {
    if error.is_bad_input() {
        Failure::usage(error)
    } else {
        Failure::environment(error)
    }
}

fn list(store: &dyn History, args: &ListArgs) -> Result<Exit, Failure> {
    let mut runs = store.list().map_err(failure)?;
    runs.retain(|run| {
        args.label
            .as_ref()
            .is_none_or(|label| run.labels.contains(label))
            && args.name.as_ref().is_none_or(|name| run.name == *name)
    });
    let list = RunList {
        schema: SCHEMA,
        store: store.place(),
        runs,
    };
    let mut out = io::stdout().lock();
    rendered(if args.json {
        render::json(&list, &mut out)
    } else {
        render::list(&list, &mut out, output::table_options())
    })?;
    Ok(Exit::Done)
}

fn show(store: &dyn History, args: &ShowArgs) -> Result<Exit, Failure> {
    let run = read(store, args.run)?;
    if args.json {
        print_json(run)?;
    } else {
        print_table(&run)?;
    }
    Ok(Exit::Done)
}

/// A kept run as the renderers want it.
fn read(store: &dyn History, id: i64) -> Result<Run, Failure> {
    let files = store.files(id).map_err(failure)?;
    let name = PathBuf::from(format!("run {id}"));
    let contents = RunContents::from_files(&name, &files).map_err(Failure::usage)?;
    assemble::run(contents).map_err(Failure::usage)
}

fn label(store: &mut dyn History, args: &LabelArgs) -> Result<Exit, Failure> {
    store
        .label(&[args.run], &args.labels, &args.remove)
        .map_err(failure)?;
    Ok(Exit::Done)
}

fn export(store: &dyn History, args: &ExportArgs) -> Result<Exit, Failure> {
    let files = store.files(args.run).map_err(failure)?;
    nicety_store::write_files(&args.dir, &files).map_err(|error| {
        if error.is_bad_input() {
            Failure::usage(error)
        } else {
            Failure::environment(error)
        }
    })?;
    output::say(&format!("run {}: {}", args.run, args.dir.display()));
    Ok(Exit::Done)
}
