//! `nicety runs`: the history of runs.

mod add;
mod prune;
mod trend;

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use nicety_history::{History, cautions, is_url};
use nicety_model::history::RunList;
use nicety_model::{Run, SCHEMA};
use nicety_report::{json, table};
use nicety_runner::assemble;
use nicety_store::RunContents;

use crate::cli::runs::{ExportArgs, LabelArgs, ListArgs, RunsArgs, RunsCommand, ShowArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::report::{print_json, print_table, rendered};

/// Where runs are kept when nobody says, beside the run directories.
const STORE: &str = "runs/history.sqlite";
/// Names the store where `--store` does not.
const VARIABLE: &str = "NICETY_STORE";

/// The password of a server's store, as libpq's programs take it; not on the command line, where
/// everybody could read it.
const PASSWORD: &str = "PGPASSWORD";
/// Whether to encrypt, as libpq's programs take it.
const SSL_MODE: &str = "PGSSLMODE";

/// Runs the command.
pub fn run(args: &RunsArgs) -> Result<Exit, Failure> {
    let place = place(args.store.as_deref());
    let password = env::var(PASSWORD).ok().filter(|text| !text.is_empty());
    if let Some(url) = place.to_str().filter(|text| is_url(text)) {
        let ssl_mode = env::var(SSL_MODE).ok();
        for caution in cautions(url, args.store.is_some(), ssl_mode.as_deref())? {
            output::say(&format!("nicety: {caution}"));
        }
    }
    let make = matches!(args.command, RunsCommand::Add(_));
    let mut store = nicety_history::open(&place, password.as_deref(), make)?;
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
    let list = RunList {
        schema: SCHEMA,
        store: store.place(),
        runs,
    };
    let mut out = io::stdout().lock();
    rendered(if args.json {
        json::pretty("history", &list, &mut out)
    } else {
        table(&list, &mut out, output::table_options())
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
