//! `nicety police status`, `explain` and `reload`: what the daemon has written down, and what it
//! answers.

use std::path::Path;

use anyhow::anyhow;
use nicety_police::report::State;
use nicety_policed::client;
use nicety_report::police;

use super::directory;
use crate::cli::police::{AskArgs, ExplainArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Prints the state of everybody.
pub fn status(args: &AskArgs) -> Result<Exit, Failure> {
    let state = read(args.state.as_deref())?;
    if args.json {
        output::print_json(&state)?;
        return Ok(Exit::Done);
    }
    output::print(&police::status(&state, output::table_options().width))?;
    Ok(Exit::Done)
}

/// Prints one tenant, or a port and its tenant, in one line.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let state = read(args.ask.state.as_deref())?;
    let explained = client::find(&state, &args.name)?;
    match args.ask.json {
        true => output::print_json(&explained)?,
        false => output::print(&format!("{explained}\n"))?,
    }
    Ok(Exit::Done)
}

/// Has the daemon take its policy as the file is now.
pub fn reload(args: &AskArgs) -> Result<Exit, Failure> {
    let directory = directory(args.state.as_deref())?;
    let report = client::reload(&directory)?;
    if args.json {
        output::print_json(&report)?;
    }
    if let Some(why) = report.why {
        return Err(Failure {
            exit: Exit::Negative,
            error: anyhow!("the old policy goes on: {why}"),
        });
    }
    output::say(&format!(
        "{} is taken: {} tenants",
        report.policy, report.tenants
    ));
    Ok(Exit::Done)
}

/// The state of a daemon that runs.
pub fn read(asked: Option<&Path>) -> Result<State, Failure> {
    let read = client::read(&directory(asked)?)?;
    if let Some(age) = read.old_s {
        output::say(&format!(
            "this is {age:.0} s old: the daemon does not get on"
        ));
    }
    Ok(read.state)
}
