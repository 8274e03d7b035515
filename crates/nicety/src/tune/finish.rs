//! `nicety tune confirm`, `rollback` and `verify`.

use anyhow::anyhow;
use nicety_advisor::transaction::{Confirmation, Purpose, words};
use nicety_report::plural;
use nicety_tuner::{Transaction, Work};

use crate::cli::tune::{RollbackArgs, TransactionArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Keeps a transaction.
pub fn confirm(args: &TransactionArgs) -> Result<Exit, Failure> {
    let work = args.state.begin()?;
    let mut transaction = work.pick(args.id, Purpose::Confirm)?;
    let id = transaction.id();
    let answer = transaction.confirm().map_err(Failure::environment)?;
    match answer {
        Confirmation::Kept => output::say(&format!(
            "transaction {id} is kept; nicety tune rollback {id} undoes it"
        )),
        Confirmation::KeptBefore => {
            output::say(&format!("transaction {id} was confirmed before"));
        }
        Confirmation::TooLate(_) => {}
    }
    show(&transaction, args.output.json)?;
    match answer {
        Confirmation::Kept | Confirmation::KeptBefore => Ok(Exit::Done),
        Confirmation::TooLate(phase) => Err(Failure {
            exit: Exit::Negative,
            error: anyhow!(
                "transaction {id} is {}, so it can no longer be confirmed",
                phase.word()
            ),
        }),
    }
}

/// Undoes a transaction.
pub fn rollback(args: &RollbackArgs) -> Result<Exit, Failure> {
    let RollbackArgs {
        transaction: of,
        force,
        all,
    } = args;
    let work = of.state.begin()?;
    let purpose = Purpose::Rollback { force: *force };
    if let Some(id) = of.id {
        return roll_back(&work, id, args);
    }
    let meant = work.meant(purpose).map_err(Failure::environment)?;
    let meant = if *all { meant } else { meant.newest() };
    for (id, why) in &meant.passed_over {
        output::say(&words::passed_over(*id, *why));
    }
    if meant.ids.is_empty() {
        output::say("nothing to undo here");
    }
    let mut exit = Exit::Done;
    for id in meant.ids {
        if roll_back(&work, id, args)? == Exit::Negative {
            exit = Exit::Negative;
        }
    }
    Ok(exit)
}

fn roll_back(work: &Work, id: u32, args: &RollbackArgs) -> Result<Exit, Failure> {
    let RollbackArgs {
        transaction: of,
        force,
        ..
    } = args;
    let purpose = Purpose::Rollback { force: *force };
    let mut transaction = work.pick(Some(id), purpose)?;
    if !purpose.fits(transaction.journal().phase()) {
        output::say(&format!("transaction {id} was undone before"));
        show(&transaction, of.output.json)?;
        return Ok(Exit::Done);
    }
    work.check_here(&transaction)?;
    work.may_undo(&transaction)?;
    let outcomes = transaction
        .undo("asked for", *force)
        .map_err(Failure::environment)?;
    show(&transaction, of.output.json)?;
    output::say(&format!(
        "transaction {id} undone{}",
        words::left(&outcomes)
    ));
    let left = outcomes.iter().any(|(_, outcome)| outcome.is_left());
    Ok(if left { Exit::Negative } else { Exit::Done })
}

/// Looks whether the settings of a transaction still hold.
pub fn verify(args: &TransactionArgs) -> Result<Exit, Failure> {
    let work = args.state.begin()?;
    let transaction = work.pick(args.id, Purpose::Verify)?;
    let report = work.verify(&transaction)?;
    if args.output.json {
        output::print_json(&report)?;
    } else {
        output::print(&words::verified(&report))?;
    }
    let all = report.settings.len();
    let drifted = report.settings.iter().filter(|s| !s.holds()).count();
    if drifted == 0 {
        return Ok(Exit::Done);
    }
    output::say(&format!(
        "transaction {}: drifted: {drifted} of {}",
        transaction.id(),
        plural(all, "setting")
    ));
    Ok(Exit::Negative)
}

fn show(transaction: &Transaction<'_>, json: bool) -> Result<(), Failure> {
    match json {
        true => output::print_json(&transaction.report()),
        false => Ok(()),
    }
}
