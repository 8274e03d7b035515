//! `nicety vf`: virtual functions and ports, their counters and limits.

mod counters;
pub mod limit;
pub mod look;
mod pacing;
mod shared;
mod table;
mod verify;
mod watch;

use std::time::{Duration, Instant};

use nicety_host::netns::NetNs;
use nicety_model::vf::VfReport;

use crate::cli::vf::{ListArgs, StatsArgs, VfArgs, VfCommand};
use crate::exit::{Exit, Failure};
use crate::output;
use look::Eyes;

/// Runs the command.
pub fn run(args: &VfArgs) -> Result<Exit, Failure> {
    match &args.command {
        VfCommand::List(args) => list(args),
        VfCommand::Stats(args) => stats(args),
        VfCommand::Limit(args) => limit::run(args),
        VfCommand::Pacing(args) => pacing::run(args),
        VfCommand::Watch(args) => watch::run(args),
    }
}

fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let eyes = Eyes::open()?;
    let mut report = eyes.look(args.interface.as_deref())?;
    let here = NetNs::current().map_err(Failure::environment)?.inode();
    if let Some(state) = crate::police::known(args.state.as_deref(), here)?
        && state.netns == here
    {
        shared::add(&mut report, &state);
    }
    show(&report, args.json, table::list)
}

fn stats(args: &StatsArgs) -> Result<Exit, Failure> {
    let eyes = Eyes::open()?;
    let first = eyes.look(args.interface.as_deref())?;
    let begin = Instant::now();
    std::thread::sleep(args.over);
    let mut second = eyes.look(args.interface.as_deref())?;
    counters::rates(&first, &mut second, begin.elapsed());
    show(&second, args.json, table::stats)
}

fn show(
    report: &VfReport,
    json: bool,
    table: fn(&VfReport, u16) -> String,
) -> Result<Exit, Failure> {
    if json {
        output::print_json(report)?;
        return Ok(Exit::Done);
    }
    if report.nics.is_empty() && report.ports.is_empty() {
        output::say(
            "no NIC with virtual functions, and no tap, veth or macvtap in this network namespace",
        );
        return Ok(Exit::Done);
    }
    output::print(&table(report, output::table_options().width))?;
    Ok(Exit::Done)
}

/// Rate of a counter in bits per second; none when it went back.
fn bits_per_second(before: u64, after: u64, time: Duration) -> Option<f64> {
    let bytes = after.checked_sub(before)?;
    let seconds = time.as_secs_f64();
    (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds)
}
