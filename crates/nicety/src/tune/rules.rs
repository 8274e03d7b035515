//! `nicety tune rules` and `explain`.

use nicety_advisor::catalogue;
use nicety_report::rules::{Explained, Listed};

use super::show;
use crate::cli::tune::{ExplainArgs, RulesArgs};
use crate::exit::{Exit, Failure};

/// Lists all rules.
pub fn list(args: &RulesArgs) -> Result<Exit, Failure> {
    let rules = catalogue::rules(None);
    show(&args.format, &rules, &Listed(&rules))?;
    Ok(Exit::Done)
}

/// Explains the rules that share an id, or the one of a name.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let rules = catalogue::rules(Some(&args.rule));
    show(&args.format, &rules, &Explained(&rules))?;
    Ok(Exit::Done)
}
