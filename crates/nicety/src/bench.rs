//! `nicety bench`: finds the honest throughput of paths.

pub mod assemble;
pub mod host;
mod live;
mod measure;
mod progress;
mod request;
mod run;
pub mod signals;
mod sockets;

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
