//! `nicety sock`: what applications get from a network path.

pub mod args;
pub mod progress;
mod request;
mod serve;

use anyhow::Context;
use nicety_socket::SocketError;

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

/// The exit code of an error between endpoints.
fn failure(error: SocketError) -> Failure {
    match error.is_bad_input() {
        true => Failure::usage(error),
        false => Failure::environment(error),
    }
}
