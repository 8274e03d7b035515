//! `nicety tune status`: it reads, and changes nothing.

use nicety_advisor::transaction::words;
use nicety_report::plural;
use nicety_report::transactions::{Active, Everything};
use nicety_tuner::{status, work};

use super::{events, show};
use crate::cli::output::Format;
use crate::cli::tune::StatusArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// What is changed now, whether it holds, and what became of all transactions.
pub fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let state = work::directory(args.state.asked().as_deref())?;
    let status = status::status(&state, &mut events::say)?;
    if output::is_verbose() && args.format.format() == Format::Table {
        show(&args.format, &status, &Active(&status.active))?;
        let newest = status.history.iter().rev();
        output::lines(&newest.map(words::history).collect::<String>())?;
    } else {
        show(&args.format, &status, &Everything(&status))?;
    }
    let settings = status.active.iter().flat_map(|of| &of.settings);
    let (all, drifted) = (
        settings.clone().count(),
        settings.filter(|s| !s.holds()).count(),
    );
    if drifted == 0 {
        return Ok(Exit::Done);
    }
    output::say(&format!("drifted: {drifted} of {}", plural(all, "setting")));
    Ok(Exit::Negative)
}
