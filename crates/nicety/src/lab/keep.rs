//! `nicety lab run --keep` and `nicety lab down`: a lab that stays for the next command.

use anyhow::anyhow;
use nicety_lab::runs::Runs;
use nicety_lab::setup::LabRequest;
use nicety_lab::signals::Signals;
use nicety_lab::up::{Up, boot_up};
use nicety_lab::{Home, Running};

use super::args::MachineArgs;
use super::setup::{self, announce};
use super::share;
use crate::exit::{Exit, Failure};
use crate::output;

/// The lab that is kept, or a new one that will be; none when the user gave up.
pub fn up(args: &MachineArgs, signals: &mut Signals) -> Result<Option<Running>, Failure> {
    let home = Home::of_user();
    let _turn = home.lock().map_err(Failure::environment)?;
    if let Some(running) = home.running().map_err(Failure::environment)? {
        if running.state.up {
            return match running.state.other_than(&LabRequest::from(args)) {
                None => Ok(Some(running)),
                Some(has) => Err(Failure::usage(anyhow!(
                    "a lab is up already and {has}; end it with nicety lab down first"
                ))),
            };
        }
        output::say("nicety: ending a lab whose start was interrupted");
        running.end().map_err(Failure::environment)?;
    }
    boot(&home, args, signals)
}

fn boot(
    home: &Home,
    args: &MachineArgs,
    signals: &mut Signals,
) -> Result<Option<Running>, Failure> {
    let mut setup = setup::get(args)?;
    if signals.ended() {
        return Ok(None);
    }
    let runs = share::runs();
    setup.spec.shares = runs.iter().map(Runs::path).collect();
    announce(&setup);
    match boot_up(home, &setup, runs, signals).map_err(Failure::environment)? {
        Up::Running(running) => {
            output::say(&format!(
                "nicety: the lab stays up until nicety lab down; its console: {}",
                running.console().display()
            ));
            Ok(Some(running))
        }
        Up::Abandoned => Ok(None),
        Up::Ended => Err(Failure::environment(anyhow!(
            "the lab ended as soon as it was up; try again"
        ))),
    }
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
