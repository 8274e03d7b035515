//! `nicety tune`: findings, changes, and the way back.

mod plan;
mod text;

use crate::cli::tune::{TuneArgs, TuneCommand};
use crate::exit::{Exit, Failure};

/// Runs the command.
pub fn run(args: &TuneArgs) -> Result<Exit, Failure> {
    match &args.command {
        TuneCommand::Plan(args) => plan::run(args),
    }
}
