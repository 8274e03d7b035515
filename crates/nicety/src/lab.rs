//! `nicety lab`: a KVM host in a box.

pub mod args;
pub mod guest;
mod keep;
pub mod progress;
mod run;
mod setup;
mod share;

use crate::exit::{Exit, Failure};
use args::LabCommand;

pub use guest::run as guest;

/// Runs the command.
pub fn run(command: &LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::Run(args) => run::run(args),
        LabCommand::Shell(args) => run::shell(args),
        LabCommand::Down => keep::down(),
        LabCommand::Fetch(args) => setup::fetch(args),
    }
}
