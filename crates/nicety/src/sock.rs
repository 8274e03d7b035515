//! `nicety sock`: what applications get from a network path.

pub mod args;
pub mod progress;
mod request;
mod serve;

use anyhow::Context;

use crate::bench::signals::Signals;
use crate::exit::{Exit, Failure};

use args::{SockArgs, SockJob};

/// Runs the command.
pub fn run(args: &SockArgs) -> Result<Exit, Failure> {
    let signals = || {
        Signals::install()
            .context("cannot take over SIGINT and SIGTERM")
            .map_err(Failure::environment)
    };
    match args.job.test() {
        Ok((test, args)) => request::run(&request::read(test, args)?, &signals()?),
        Err(SockJob::Serve(args)) => serve::run(args, &signals()?),
        // Every other job is a test.
        Err(_) => Ok(Exit::Usage),
    }
}
