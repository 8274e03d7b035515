//! `nicety runs`: the history of runs.

mod add;
mod keep;
mod prune;
mod trend;

use std::env;
use std::path::{Path, PathBuf};

use nicety_history::{Caution, Environment, History, HistoryError, has_password};
use nicety_model::history::RunList;
use nicety_model::{Run, SCHEMA};
use nicety_report::{csv, json};
use nicety_runner::assemble;
use nicety_store::RunContents;

use crate::cli::runs::{ExportArgs, LabelArgs, ListArgs, RunsArgs, RunsCommand, ShowArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::report::print;

pub use keep::Keep;

/// Where runs are kept when nobody says, beside the run directories.
const STORE: &str = "runs/history.sqlite";
/// Names the store where `--store` does not.
const VARIABLE: &str = "NICETY_STORE";

/// Runs the command.
pub fn run(args: &RunsArgs) -> Result<Exit, Failure> {
    let place = place(args.store.as_deref());
    let url = args.store.as_ref().and_then(|place| place.to_str());
    if url.is_some_and(has_password) {
        caution(Caution::PasswordInArguments);
    }
    let make = matches!(args.command, RunsCommand::Add(_));
    let mut store = match (open(&place, make), &args.command) {
        (Err(HistoryError::Missing { place }), RunsCommand::List(args)) => {
            return none(place, args);
        }
        (store, _) => store?,
    };
    let store = store.as_mut();
    match &args.command {
        RunsCommand::Add(args) => add::run(store, args),
        RunsCommand::List(args) => list(store, args),
        RunsCommand::Show(args) => show(store, args),
        RunsCommand::Trend(args) => trend::run(store, args),
        RunsCommand::Label(args) => label(store, args),
        RunsCommand::Prune(args) => prune::run(store, args),
        RunsCommand::Export(args) => export(store, args),
    }
}

fn caution(caution: Caution) {
    output::tell(&format!("nicety: {caution}"));
}

/// Opens the store: a server with what libpq's variables and files say of it.
fn open(place: &Path, make: bool) -> Result<Box<dyn History>, HistoryError> {
    let store = nicety_history::open(place, &Environment::of_process(), make)?;
    store.cautions().iter().copied().for_each(caution);
    Ok(store)
}

/// The store's file or URL.
fn place(given: Option<&Path>) -> PathBuf {
    let named = || env::var_os(VARIABLE).filter(|value| !value.is_empty());
    match given {
        Some(path) => path.to_owned(),
        None => named().map_or_else(|| STORE.into(), PathBuf::from),
    }
}

fn list(store: &dyn History, args: &ListArgs) -> Result<Exit, Failure> {
    let mut runs = store.list()?;
    runs.retain(|run| {
        args.label
            .as_ref()
            .is_none_or(|label| run.labels.contains(label))
            && args.name.as_ref().is_none_or(|name| run.name == *name)
    });
    show_list(
        &RunList {
            schema: SCHEMA,
            store: store.place(),
            runs,
        },
        args,
    )
}

/// The list of a store that is not there yet.
fn none(store: String, args: &ListArgs) -> Result<Exit, Failure> {
    let runs = Vec::new();
    show_list(
        &RunList {
            schema: SCHEMA,
            store,
            runs,
        },
        args,
    )
}

fn show_list(list: &RunList, args: &ListArgs) -> Result<Exit, Failure> {
    if list.runs.is_empty() && args.label.is_none() && args.name.is_none() {
        output::say("no runs kept yet; keep one with: nicety bench --keep");
    }
    output::report(
        &args.format,
        list,
        |out| json::pretty("history", list, out),
        |out| csv::history::list(list, out),
    )?;
    Ok(Exit::Done)
}

fn show(store: &dyn History, args: &ShowArgs) -> Result<Exit, Failure> {
    let run = read(store, args.run)?;
    print(run, &args.format)?;
    Ok(Exit::Done)
}

/// A kept run as the renderers want it, without its trials.
fn read(store: &dyn History, id: i64) -> Result<Run, Failure> {
    let files = store.results(id)?;
    let name = PathBuf::from(format!("run {id}"));
    let contents = RunContents::from_files(&name, &files).map_err(Failure::usage)?;
    assemble::run(contents).map_err(Failure::usage)
}

fn label(store: &mut dyn History, args: &LabelArgs) -> Result<Exit, Failure> {
    store.label(&[args.run], &args.labels, &args.remove)?;
    Ok(Exit::Done)
}

fn export(store: &dyn History, args: &ExportArgs) -> Result<Exit, Failure> {
    let files = store.files(args.run)?;
    nicety_store::write_files(&args.dir, &files)?;
    output::say(&format!("run {}: {}", args.run, args.dir.display()));
    Ok(Exit::Done)
}
