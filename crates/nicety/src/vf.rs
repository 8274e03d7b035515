//! `nicety vf`: virtual functions and ports, their counters and limits.

mod functions;
mod limit;
pub mod named;
mod pacing;
mod watch;

use std::time::Instant;

use nicety_model::vf::VfReport;
use nicety_netdev::netns::NetNs;
use nicety_police::{port_counters, shared};
use nicety_policed::vf::inventory::Inventory;
use nicety_report::page::Page;
use nicety_report::vf as table;

use crate::cli::output::{Format, FormatArgs};
use crate::cli::vf::{ListArgs, StatsArgs, VfCommand};
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(command: &VfCommand) -> Result<Exit, Failure> {
    match command {
        VfCommand::List(args) => list(args),
        VfCommand::Enable(args) => functions::enable(args),
        VfCommand::Disable(args) => functions::disable(args),
        VfCommand::Stats(args) => stats(args),
        VfCommand::Limit(args) => limit::run(args),
        VfCommand::Pacing(args) => pacing::run(args),
        VfCommand::Watch(args) => watch::run(args),
    }
}

fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let inventory = Inventory::open()?;
    let only = named::only(args.interface.as_deref())?;
    let mut report = inventory.report(only.as_deref())?;
    let here = NetNs::current().map_err(Failure::environment)?.inode();
    if let Some(state) = crate::police::known(&args.state, here)?
        && state.netns == here
    {
        shared::add(&mut report, &state);
    }
    show(&report, &args.format, table::list)
}

fn stats(args: &StatsArgs) -> Result<Exit, Failure> {
    let inventory = Inventory::open()?;
    let only = named::only(args.interface.as_deref())?;
    let first = inventory.report(only.as_deref())?;
    let begin = Instant::now();
    std::thread::sleep(args.over);
    let mut second = inventory.report(only.as_deref())?;
    port_counters::rates(&first, &mut second, begin.elapsed());
    show(&second, &args.format, table::stats)
}

fn show(
    report: &VfReport,
    format: &FormatArgs,
    table: fn(&VfReport) -> Page,
) -> Result<Exit, Failure> {
    let tables = format.format() == Format::Table;
    if tables && report.nics.is_empty() && report.ports.is_empty() {
        output::say(
            "no NIC with virtual functions, and no tap, veth or macvtap in this network namespace",
        );
        return Ok(Exit::Done);
    }
    output::page(format, report, || table(report))?;
    Ok(Exit::Done)
}
