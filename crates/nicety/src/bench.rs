//! `nicety bench`: finds the honest throughput of paths.

pub mod assemble;
mod engines;
mod guests;
pub mod host;
mod links;
mod live;
mod machine;
mod measure;
mod paths;
mod progress;
mod request;
mod run;
pub mod setup;
pub mod signals;
mod sockets;
mod switches;
mod tester_limit;

use anyhow::Context;

use crate::cli::BenchArgs;
use crate::exit::{Exit, Failure};

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let request = request::read(args)?;
    let signals = signals::Signals::install()
        .context("cannot take over SIGINT and SIGTERM")
        .map_err(Failure::environment)?;
    run::run(request, &signals)
}
