//! `nicety port pacing`: whether a sender is paced at its limit or sends in bursts.

use nicety_police::pacing::Pace;
use nicety_policed::vf::inventory::Inventory;
use nicety_policed::vf::pacing::PacingRequest;
use nicety_report::vf::pacing;

use super::named;
use crate::cli::port::PacingArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &PacingArgs) -> Result<Exit, Failure> {
    let place = named::place(&args.interface)?;
    let report = Inventory::open()?.pacing(PacingRequest {
        interface: &place.interface,
        over: args.over,
        from: args.from,
        sent: args.sent,
    })?;
    if args.output.json {
        output::print_json(&report)?;
    } else {
        output::print(&pacing::words(&report))?;
    }
    if report.pacing.pace == Pace::Unknown {
        output::say(&format!(
            "too few packets to judge: {}; let the sender run, or use a longer --window",
            report.pacing.units
        ));
    }
    Ok(match report.pacing.pace {
        Pace::Unknown => Exit::Negative,
        Pace::Paced | Pace::Bursts => Exit::Done,
    })
}
