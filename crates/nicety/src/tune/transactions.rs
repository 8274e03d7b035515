//! `nicety tune active` and `history`: they read, and change nothing.

use nicety_advisor::transaction::words;
use nicety_report::transactions::{Active, All};
use nicety_tuner::{active as tuner, work};

use super::{events, table};
use crate::cli::tune::{HistoryArgs, StateJsonArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// What is changed now.
pub fn active(args: &StateJsonArgs) -> Result<Exit, Failure> {
    let state = work::directory(args.state.state.as_deref())?;
    let active = tuner::active(&state, &mut events::say)?;
    match args.json {
        true => output::print_json(&active)?,
        false => table(&Active(&active))?,
    }
    Ok(Exit::Done)
}

/// What became of all transactions.
pub fn history(args: &HistoryArgs) -> Result<Exit, Failure> {
    let state = work::directory(args.state.state.as_deref())?;
    let history = tuner::history(&state, &mut events::say)?;
    match (args.json, args.verbose) {
        (true, _) => output::print_json(&history)?,
        (false, true) if !history.transactions.is_empty() => {
            let newest = history.transactions.iter().rev();
            output::print(&newest.map(words::history).collect::<String>())?;
        }
        (false, _) => table(&All(&history))?,
    }
    Ok(Exit::Done)
}
