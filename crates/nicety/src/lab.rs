//! `nicety lab`: a KVM host in a box.

pub mod args;
pub mod guest;
pub mod progress;
mod run;
mod setup;
mod share;
mod up;

use crate::exit::{Exit, Failure};
use args::LabCommand;

pub use guest::run as guest;

/// Runs the command.
pub fn run(command: &LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::Run(args) => run::run(args),
        LabCommand::Shell(args) => run::shell(args),
        LabCommand::Up(args) => up::up(args),
        LabCommand::Down => up::down(),
        LabCommand::Fetch(args) => setup::fetch(args),
    }
}
