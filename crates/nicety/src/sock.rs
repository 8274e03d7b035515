//! `nicety sock`: what applications get from a network path.

pub mod args;
pub mod progress;
mod request;
mod serve;
mod token;

use crate::exit::{Exit, Failure};
use crate::signals::Signals;

use args::SockJob;

/// Runs the command.
pub fn run(job: &SockJob) -> Result<Exit, Failure> {
    match job.test() {
        Ok((test, args)) => request::run(&request::read(test, args)?, &Signals::install()?),
        Err(SockJob::Serve(args)) => serve::run(args, &Signals::install()?),
        // Every other job is a test.
        Err(_) => Ok(Exit::Usage),
    }
}
