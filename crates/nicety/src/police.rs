//! `nicety police`: shares a link among tenants.

mod board;
mod check;
mod daemon;
mod dry;
mod found;
mod functions;
mod guests;
mod journal;
mod kernel;
mod passed;
mod ports;
mod record;
mod serve;
mod service;
mod softly;
mod state;
mod told;
mod totals;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_host::knob::WIRE;
use nicety_model::SCHEMA;
use nicety_police::Policy;
use nicety_police::told::RestoreReport;

pub use state::State;

use crate::cli::police::{PoliceArgs, PoliceCommand, RestoreArgs, RunArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Largest policy, in bytes.
const LARGEST: u64 = 16 << 20;

/// Runs the command.
pub fn run(args: &PoliceArgs) -> Result<Exit, Failure> {
    match &args.command {
        PoliceCommand::Run(args) => start(args),
        PoliceCommand::Status(args) => told::status(args),
        PoliceCommand::Explain(args) => told::explain(args),
        PoliceCommand::Reload(args) => told::reload(args),
        PoliceCommand::Restore(args) => restore(args),
    }
}

fn start(args: &RunArgs) -> Result<Exit, Failure> {
    let (policy, text) = read(&args.policy)?;
    let file = args.policy.display().to_string();
    match args.dry_run {
        true => dry::run(&policy, &file, args),
        false => daemon::run(&policy, &file, &text, args),
    }
}

/// A policy, and its text.
fn read(path: &Path) -> Result<(Policy, String), Failure> {
    let shown = path.display().to_string();
    let unreadable =
        |error: std::io::Error| Failure::usage(anyhow!("cannot read {shown}: {error}"));
    let of = std::fs::metadata(path).map_err(unreadable)?;
    let refuse = |what: &str| Err(Failure::usage(anyhow!("{shown} is no policy: {what}")));
    if !of.is_file() {
        // Something else may never end, and is not there again for a reload.
        return refuse("no file");
    }
    if of.len() > LARGEST {
        return refuse(&format!("{} bytes", of.len()));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let policy = Policy::parse(&shown, &text).map_err(Failure::usage)?;
    Ok((policy, text))
}

fn restore(args: &RestoreArgs) -> Result<Exit, Failure> {
    let asked = args.state.as_deref();
    let mut ports = ports::Ports::open(None)?;
    let _alone = state::Alone::claim(ports.namespace())?;
    let tell = |ports| match args.json {
        true => output::print_json(&RestoreReport {
            schema: SCHEMA,
            ports,
        }),
        false => Ok(()),
    };
    let nothing = || {
        output::say("nothing to put back");
        tell(Vec::new()).map(|()| Exit::Done)
    };
    let directory = state::directory(asked)?;
    match (directory.is_dir(), asked) {
        (true, _) => {}
        (false, None) => return nothing(),
        (false, Some(path)) => {
            return Err(Failure::usage(anyhow!(
                "there is no directory {}; correct --state",
                path.display()
            )));
        }
    }
    let (state, _state_is_ours) = state::take(Some(&directory))?;
    let mut found = found::Originals::open(&state, &ports)?;
    if found.len() == 0 {
        return nothing();
    }
    let (exit, back) = found.restore(&mut ports, "asked to")?;
    tell(back).map(|()| exit)
}

/// What a daemon tells whose state directory is asked for, or the one of a network namespace where one
/// runs.
pub fn known(asked: Option<&Path>, netns: u64) -> Result<Option<State>, Failure> {
    match asked {
        Some(_) => told::read(asked).map(Some),
        // Whoever may not read it does without.
        None => Ok(told::read_quietly(netns)),
    }
}

/// Whether a daemon in this network namespace sets the limit of a port, which is now `limit`. Where what
/// it knows cannot be read, the way of the limit tells.
pub fn governs(netns: u64, port: &str, limit: &str) -> bool {
    match told::read_quietly(netns) {
        Some(state) => {
            let mut ports = state.decision.ports.iter();
            ports.any(|known| known.port.to_string() == port)
        }
        None => limit.ends_with(WIRE) && state::named(),
    }
}

/// The file that `status` and `explain` read.
fn state_file(directory: &Path) -> PathBuf {
    directory.join("state.json")
}
