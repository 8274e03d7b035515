//! `nicety tune`: findings, changes, and the way back.

mod apply;
mod boot;
pub mod events;
mod finish;
mod fleet;
mod measure;
mod persist;
mod status;

use std::io;
use std::path::PathBuf;

use nicety_advisor::Wishes;
use nicety_host::facts::Source;
use nicety_report::{Report, advice as report};
use nicety_tuner::advice::{self, AdviceRequest};
use nicety_tuner::guard;
use serde::Serialize;

use crate::cli::output::{Format, FormatArgs};
use crate::cli::tune::{Ask, AskRecorded, GuardArgs, PlanArgs, TuneCommand};
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(command: &TuneCommand) -> Result<Exit, Failure> {
    match command {
        TuneCommand::Plan(args) => plan(args),
        TuneCommand::Apply(args) => apply::run(args),
        TuneCommand::Undo(args) => finish::undo(args),
        TuneCommand::Status(args) => status::run(args),
        TuneCommand::Persist(args) => persist::run(args),
        TuneCommand::Boot(args) => boot::run(args),
        TuneCommand::Guard(GuardArgs { state, id }) => {
            guard::run(state, *id, &mut io::stdout())?;
            Ok(Exit::Done)
        }
    }
}

fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    if fleet::is_meant(args) {
        return fleet::run(args);
    }
    let source = Source::at(args.captures.first().map(PathBuf::as_path)).map_err(Failure::usage)?;
    let advice = advice::ask(&source, &AdviceRequest::from(&args.ask), &mut events::say)?;
    if output::is_verbose() && args.format.format() == Format::Table {
        output::print(&report::long(&advice, output::table_options().width))?;
    } else {
        show(&args.format, &advice, &advice)?;
    }
    Ok(Exit::Done)
}

/// Prints a report in the format that was asked for; `value` is what JSON shows.
fn show(format: &FormatArgs, value: &impl Serialize, report: &impl Report) -> Result<(), Failure> {
    if format.format() == Format::Json {
        return output::print_json(value);
    }
    let csv = |out: &mut Vec<u8>| nicety_report::tables_csv(report, out, true);
    output::report(format, report, |_| Ok(()), csv)
}

impl From<&Ask> for AdviceRequest {
    fn from(ask: &Ask) -> Self {
        Self {
            peer: ask.peer,
            window: ask.window,
            ..Self::from(&ask.known)
        }
    }
}

impl From<&AskRecorded> for AdviceRequest {
    fn from(ask: &AskRecorded) -> Self {
        Self {
            goal: ask.goal,
            wishes: Wishes {
                rtt_ms: ask.rtt,
                rate_mbps: ask.rate,
                jumbo_path: ask.jumbo_path,
                peer: None,
            },
            only: ask.only.clone(),
            risk: ask.fix_risk,
            ..Self::default()
        }
    }
}
