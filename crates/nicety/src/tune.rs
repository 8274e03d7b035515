//! `nicety tune`: findings, changes, and the way back.

mod apply;
mod boot;
pub mod commit;
mod finish;
mod guard;
mod measure;
mod path_mtu;
mod persist;
mod plan;
pub mod report;
pub mod state;
mod text;
pub mod transaction;

use anyhow::anyhow;
use serde::Serialize;

pub use plan::print;

use crate::cli::tune::{TuneArgs, TuneCommand};
use crate::exit::{Exit, Failure};

/// Runs the command.
pub fn run(args: &TuneArgs) -> Result<Exit, Failure> {
    match &args.command {
        TuneCommand::Plan(args) => plan::run(args),
        TuneCommand::Apply(args) => apply::run(args),
        TuneCommand::Confirm(args) => finish::confirm(args),
        TuneCommand::Rollback(args) => finish::rollback(args),
        TuneCommand::Verify(args) => finish::verify(args),
        TuneCommand::History(args) => finish::history(args),
        TuneCommand::Persist(args) => persist::run(args),
        TuneCommand::Boot(args) => boot::run(args),
        TuneCommand::Guard(args) => guard::run(args),
    }
}

/// One object on standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::environment(anyhow!("cannot write JSON: {error}")))?;
    plan::print(&format!("{text}\n"))
}

/// One object as one of many lines.
pub fn line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::environment(anyhow!("cannot write JSON: {error}")))?;
    Ok(text + "\n")
}
