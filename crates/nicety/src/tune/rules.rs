//! `nicety tune rules` and `explain`.

use nicety_advisor::catalogue;
use nicety_report::rules::{Explained, Listed};

use super::table;
use crate::cli::tune::{ExplainArgs, RulesArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Lists all rules.
pub fn list(args: &RulesArgs) -> Result<Exit, Failure> {
    let rules = catalogue::rules(None);
    match args.json {
        true => output::print_json(&rules)?,
        false => table(&Listed(&rules))?,
    }
    Ok(Exit::Done)
}

/// Explains the rules that share an id, or the one of a name.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let rules = catalogue::rules(Some(&args.rule));
    match args.json {
        true => output::print_json(&rules)?,
        false => table(&Explained(&rules))?,
    }
    Ok(Exit::Done)
}
