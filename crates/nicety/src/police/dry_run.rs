//! `--dry-run`: what would be done, printed.

use std::path::Path;

use nicety_police::explain::readable;
use nicety_policed::PolicyFile;
use nicety_policed::dry_run::{self, DryRun};
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
        crate::output::print(&match args.json {
            true => crate::output::line(&period.report())?,
            false => text(period),
        })
    })?;
    Ok(Exit::Done)
}

fn text(run: &DryRun<'_>) -> String {
    let mut text = format!(
        "period {}: {} of {}\n",
        run.period,
        readable(run.decision.total_bps),
        run.policy.capacity
    );
    for (port, now) in run.decision.ports.iter().zip(run.seen) {
        let has = match now.limit {
            Some(limit) if limit.0 > 0 => limit.to_string(),
            Some(_) => "none".to_owned(),
            None => "not there".to_owned(),
        };
        let sends = port.rate_bps.map_or("nothing known".to_owned(), readable);
        let would = match port.present {
            true => format!(", would be {}", port.limit),
            false => String::new(),
        };
        text += &format!(
            "  {} ({}): sends {sends}, limit {has}{would}\n",
            port.port, run.policy.tenants[port.tenant].name
        );
    }
    text
}
