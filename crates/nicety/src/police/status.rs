//! `nicety police status` and `reload`: what the daemon has written down, and what it
//! answers.

use anyhow::anyhow;
use nicety_police::report::State;
use nicety_policed::client;
use nicety_report::{plural, police};

use super::cluster;
use crate::cli::output::Format;
use crate::cli::police::{AskArgs, PokeArgs, StatusArgs};
use crate::cli::state::StateArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Prints the state of everybody, or of one.
pub fn status(args: &StatusArgs) -> Result<Exit, Failure> {
    if args.cluster {
        return cluster::status(args);
    }
    let state = read(&args.state)?;
    match &args.name {
        Some(name) => explain(&state, name, args.format.format() == Format::Json)?,
        None => output::page(&args.format, &state, || police::status(&state))?,
    }
    Ok(Exit::Done)
}

/// Prints one tenant, or a port and its tenant, in one line.
fn explain(state: &State, name: &str, json: bool) -> Result<(), Failure> {
    let explained = client::find(state, name)?;
    if json {
        return output::print_json(&explained);
    }
    let cluster = state.cluster.as_ref();
    let share = cluster.and_then(|of| police::cluster_share(of, &explained.tenant.tenant));
    let share = share.map_or_else(String::new, |share| format!("{share}\n"));
    output::lines(&format!("{explained}\n{share}"))
}

/// Has the daemon take its policy as the file is now.
pub fn reload(args: &AskArgs) -> Result<Exit, Failure> {
    let directory = args.state.police()?;
    let report = client::reload(&directory)?;
    if args.output.json {
        output::print_json(&report)?;
    }
    if let Some(why) = report.why {
        return Err(Failure {
            exit: Exit::Negative,
            error: anyhow!("policy not reloaded: {why}"),
        });
    }
    output::say(&format!(
        "{} is taken: {}",
        report.policy,
        plural(report.tenants, "tenant")
    ));
    Ok(Exit::Done)
}

/// Has the daemon ask anew which ports its names are.
pub fn poke(args: &PokeArgs) -> Result<Exit, Failure> {
    if !client::poke(&args.state.police()?)? {
        output::say("the policy has no names; nothing to ask");
    }
    Ok(Exit::Done)
}

/// The state of a daemon that runs.
pub fn read(asked: &StateArgs) -> Result<State, Failure> {
    let read = client::read(&asked.police()?)?;
    if let Some(age) = read.old_s {
        output::say(&format!(
            "this is {age:.0} s old: the daemon does not get on"
        ));
    }
    Ok(read.state)
}
