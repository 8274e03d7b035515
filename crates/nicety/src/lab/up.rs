//! `nicety lab up` and `nicety lab down`.

use anyhow::{Context, anyhow};
use nicety_lab::runs::Runs;
use nicety_lab::setup::LabRequest;
use nicety_lab::signals::Signals;
use nicety_lab::up::{Up, boot_up};
use nicety_lab::{Home, LabState, Running};
use nicety_model::counted::plural;
use serde::Serialize;

use super::args::UpArgs;
use super::setup::{self, announce};
use super::share;
use crate::exit::{Exit, Failure};
use crate::output;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    lab: &'a LabState,
    directory: String,
    qemu_pid: u32,
}

/// `nicety lab up`.
pub fn up(args: &UpArgs) -> Result<Exit, Failure> {
    let home = Home::of_user();
    let _turn = home.lock().map_err(Failure::environment)?;
    if let Some(running) = home.running().map_err(Failure::environment)? {
        if running.state.up {
            if let Some(has) = running.state.other_than(&LabRequest::from(&args.machine)) {
                return Err(Failure::usage(anyhow!(
                    "a lab is up already and {has}; end it with nicety lab down first"
                )));
            }
            output::say("nicety: the lab is up already");
            return report(&home, &running, args.output.json);
        }
        output::say("nicety: ending a lab whose start was interrupted");
        running.end().map_err(Failure::environment)?;
    }
    let mut signals = Signals::install()
        .context("cannot take over signals")
        .map_err(Failure::environment)?;
    let mut setup = setup::get(&args.machine)?;
    if signals.ended() {
        return Ok(Exit::Interrupted);
    }
    let runs = share::runs();
    setup.spec.shares = runs.iter().map(Runs::path).collect();
    announce(&setup);
    match boot_up(&home, &setup, runs, &mut signals).map_err(Failure::environment)? {
        Up::Running(running) => report(&home, &running, args.output.json),
        Up::Abandoned => Ok(Exit::Interrupted),
        Up::Ended => Err(Failure::environment(anyhow!(
            "the lab ended as soon as it was up; try again"
        ))),
    }
}

fn report(home: &Home, running: &Running, as_json: bool) -> Result<Exit, Failure> {
    let state = &running.state;
    let text = if as_json {
        let report = Report {
            schema: 1,
            lab: state,
            directory: home.dir().display().to_string(),
            qemu_pid: running.id(),
        };
        output::pretty(&report)?
    } else {
        let kept = state.runs.as_ref().map_or_else(
            || "nothing that is written in it".to_owned(),
            |runs| runs.directory.display().to_string(),
        );
        format!(
            "The lab is up: {}, {} MiB, {}.\n\
             enter it     nicety lab shell\n\
             run in it    nicety lab run -- COMMAND\n\
             what stays   {kept}\n\
             hard limits  kept by the lab on functions' interfaces, not inside guests\n\
             its console  {}\n\
             end it       nicety lab down\n",
            plural(state.cpus, "CPU"),
            state.memory_mib,
            state.accelerator,
            running.console().display()
        )
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

/// `nicety lab down`.
pub fn down() -> Result<Exit, Failure> {
    let home = Home::of_user();
    let _turn = home.lock().map_err(Failure::environment)?;
    match home.running().map_err(Failure::environment)? {
        Some(running) => {
            running.end().map_err(Failure::environment)?;
            output::say("nicety: the lab has ended");
        }
        None => output::say("nicety: no lab is up"),
    }
    Ok(Exit::Done)
}
