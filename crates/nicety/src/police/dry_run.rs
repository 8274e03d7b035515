//! `--dry-run`: what would be done, printed.

use std::path::Path;

use nicety_policed::PolicyFile;
use nicety_policed::dry_run;
use nicety_policed::log::Log;

use crate::cli::police::RunArgs;
use crate::exit::{Exit, Failure};

/// Prints for a few periods what would be done.
pub fn run(
    policy: &PolicyFile,
    directory: &Path,
    args: &RunArgs,
    log: &Log,
) -> Result<Exit, Failure> {
    let how = (args.absent_ok, args.periods);
    dry_run::run(policy, directory, how, log, |period| {
        crate::output::print(&if args.json {
            crate::output::line(&period.report())?
        } else {
            period.to_string()
        })
    })?;
    Ok(Exit::Done)
}
