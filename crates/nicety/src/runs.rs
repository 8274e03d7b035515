//! `nicety runs`: the history of runs.

mod add;
mod keep;
mod kept;
mod rm;
mod trend;

use std::path::{Path, PathBuf};

use nicety_history::{Caution, History, HistoryError, has_password};
use nicety_host::variable;
use nicety_model::history::RunList;
use nicety_model::{Run, SCHEMA};
use nicety_report::{csv, json};
use nicety_runner::assemble;
use nicety_store::{RunContents, RunFiles};

use crate::cli::runs::{ListArgs, RunsArgs, RunsCommand};
use crate::exit::{Exit, Failure};
use crate::output;

pub use keep::Keep;
pub use kept::Kept;

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
    let store = &mut store;
    match &args.command {
        RunsCommand::Add(args) => add::run(store, args),
        RunsCommand::List(args) => list(store, args),
        RunsCommand::Trend(args) => trend::run(store, args),
        RunsCommand::Rm(args) => rm::run(store, args),
    }
}

fn caution(caution: Caution) {
    output::tell(&format!("nicety: {caution}"));
}

/// Opens the store: a server with what libpq's variables and files say of it.
fn open(place: &Path, make: bool) -> Result<History, HistoryError> {
    let store = nicety_history::open(place, make)?;
    store.cautions().iter().copied().for_each(caution);
    Ok(store)
}

/// The store's file or URL.
fn place(given: Option<&Path>) -> PathBuf {
    match given {
        Some(path) => path.to_owned(),
        None => variable::named(VARIABLE).map_or_else(|| STORE.into(), PathBuf::from),
    }
}

fn list(store: &History, args: &ListArgs) -> Result<Exit, Failure> {
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

/// A kept run as the renderers want it, without its trials.
fn read(store: &History, id: i64) -> Result<Run, Failure> {
    assemble::run(contents(id, &store.results(id)?)?).map_err(Failure::usage)
}

fn contents(id: i64, files: &RunFiles) -> Result<RunContents, Failure> {
    let name = PathBuf::from(format!("run {id}"));
    RunContents::from_files(&name, files).map_err(Failure::usage)
}
