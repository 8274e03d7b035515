//! `nicety port`: ports of guests, their counters and limits, and the functions of NICs.

mod functions;
mod limit;
pub mod named;
mod pacing;
mod samples;
mod watch;

use nicety_model::vf::VfReport;
use nicety_report::page::Page;
use nicety_report::vf as table;

use crate::cli::output::Format;
use crate::cli::port::{ListArgs, PortCommand};
use crate::exit::{Exit, Failure};
use crate::output;
use samples::Samples;

/// Runs the command.
pub fn run(command: &PortCommand) -> Result<Exit, Failure> {
    match command {
        PortCommand::List(args) => list(args),
        PortCommand::Limit(args) => limit::run(args),
        PortCommand::Functions(args) => functions::run(args),
        PortCommand::Pacing(args) => pacing::run(args),
    }
}

fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let mut samples = Samples::open(args)?;
    if let Some(every) = args.watch {
        return watch::run(samples, every, args);
    }
    if !args.over.is_zero() {
        std::thread::sleep(samples.due(args.over));
        samples.take()?;
    }
    let report = samples.last();
    if args.format.format() == Format::Table && report.nics.is_empty() && report.ports.is_empty() {
        output::say(
            "no NIC with virtual functions, and no tap, veth or macvtap in this network namespace",
        );
        return Ok(Exit::Done);
    }
    output::page(&args.format, report, || page(report))?;
    Ok(Exit::Done)
}

/// What is printed of a sample.
fn page(report: &VfReport) -> Page {
    table::list(report, output::is_verbose())
}
