//! `nicety runs`: the history of runs.

mod add;
mod keep;
mod prune;
mod trend;

use std::env;
use std::path::{Path, PathBuf};

use nicety_history::{History, HistoryError, cautions, is_url, password_in_file};
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

/// The password of a server's store, as libpq's programs take it; not on the command line, where
/// everybody could read it.
const PASSWORD: &str = "PGPASSWORD";
/// A file of passwords, where that variable is not set.
const PASSWORD_FILE: &str = "PGPASSFILE";
/// Whether to encrypt, as libpq's programs take it.
const SSL_MODE: &str = "PGSSLMODE";

/// Runs the command.
pub fn run(args: &RunsArgs) -> Result<Exit, Failure> {
    let place = place(args.store.as_deref());
    caution(&place, args.store.is_some())?;
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

/// Where passwords of servers are kept, as libpq's programs have it.
fn passfile() -> Option<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty());
    let home = || Some(Path::new(&named("HOME")?).join(".pgpass"));
    named(PASSWORD_FILE).map(PathBuf::from).or_else(home)
}

/// Warns of a URL that shows a password, or of a connection that others can read.
fn caution(place: &Path, on_command_line: bool) -> Result<(), HistoryError> {
    let Some(url) = place.to_str().filter(|text| is_url(text)) else {
        return Ok(());
    };
    let ssl_mode = env::var(SSL_MODE).ok();
    for caution in cautions(url, on_command_line, ssl_mode.as_deref())? {
        output::tell(&format!("nicety: {caution}"));
    }
    Ok(())
}

/// Opens the store, with the password of a server from the environment, else from libpq's file.
fn open(place: &Path, make: bool) -> Result<Box<dyn History>, HistoryError> {
    let mut password = env::var(PASSWORD).ok().filter(|text| !text.is_empty());
    let url = place.to_str().filter(|text| is_url(text));
    if let (None, Some(url), Some(file)) = (&password, url, passfile()) {
        password = password_in_file(url, &file).unwrap_or_else(|caution| {
            output::tell(&format!("nicety: {caution}"));
            None
        });
    }
    nicety_history::open(place, password.as_deref(), make)
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
