//! `nicety tune active` and `history`: they read, and change nothing.

use nicety_advisor::transaction::words;
use nicety_report::transactions::{Active, All};
use nicety_tuner::{active as tuner, work};

use super::{events, show};
use crate::cli::output::Format;
use crate::cli::tune::{HistoryArgs, StateJsonArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// What is changed now.
pub fn active(args: &StateJsonArgs) -> Result<Exit, Failure> {
    let state = work::directory(args.state.asked().as_deref())?;
    let active = tuner::active(&state, &mut events::say)?;
    show(&args.format, &active, &Active(&active))?;
    Ok(Exit::Done)
}

/// What became of all transactions.
pub fn history(args: &HistoryArgs) -> Result<Exit, Failure> {
    let state = work::directory(args.state.asked().as_deref())?;
    let history = tuner::history(&state, &mut events::say)?;
    let settings = output::is_verbose() && !history.transactions.is_empty();
    if settings && args.format.format() == Format::Table {
        let newest = history.transactions.iter().rev();
        output::print(&newest.map(words::history).collect::<String>())?;
    } else {
        show(&args.format, &history, &All(&history))?;
    }
    Ok(Exit::Done)
}
