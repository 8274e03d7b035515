//! `nicety sock`: what applications get from a network path.

pub mod args;
pub mod progress;
mod request;
mod serve;
mod token;

use anyhow::anyhow;

use crate::exit::{Exit, Failure};
use crate::signals::Signals;

use args::{SockArgs, SockJob, Tests};

/// Runs the command.
pub fn run(args: &SockArgs) -> Result<Exit, Failure> {
    match (&args.job, &args.tests.tests) {
        (None, Some(Tests(tests))) => {
            request::run(&request::read(tests, &args.tests)?, &Signals::install()?)
        }
        (Some(SockJob::Serve(serve)), None) => serve::run(serve, &Signals::install()?),
        // The command line has one of them at least.
        _ => Err(Failure::usage(anyhow!(
            "tests and serve exclude each other; remove one of them"
        ))),
    }
}
