//! How a transaction ends: `nicety tune apply --confirm` and `nicety tune undo`.

use anyhow::anyhow;
use nicety_advisor::transaction::{Confirmation, Purpose, words};
use nicety_tuner::{Transaction, Work};

use crate::cli::tune::UndoArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Keeps a transaction.
pub fn confirm(work: &Work, id: Option<u32>, json: bool) -> Result<Exit, Failure> {
    let mut transaction = work.pick(id, Purpose::Confirm)?;
    let id = transaction.id();
    let answer = transaction.confirm().map_err(Failure::environment)?;
    match answer {
        Confirmation::Kept => output::say(&format!(
            "transaction {id} is kept; nicety tune undo {id} undoes it"
        )),
        Confirmation::KeptBefore => {
            output::say(&format!("transaction {id} was confirmed before"));
        }
        Confirmation::TooLate(_) => {}
    }
    show(&transaction, json)?;
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
pub fn undo(args: &UndoArgs) -> Result<Exit, Failure> {
    let work = args.state.begin()?;
    let purpose = Purpose::Undo { force: args.force };
    if let Some(id) = args.id {
        return undo_one(&work, id, args);
    }
    let meant = work.meant(purpose).map_err(Failure::environment)?;
    let meant = if args.all { meant } else { meant.newest() };
    for (id, why) in &meant.passed_over {
        output::say(&words::passed_over(*id, *why));
    }
    if meant.ids.is_empty() {
        output::say("nothing to undo here");
    }
    let mut exit = Exit::Done;
    for id in meant.ids {
        if undo_one(&work, id, args)? == Exit::Negative {
            exit = Exit::Negative;
        }
    }
    Ok(exit)
}

fn undo_one(work: &Work, id: u32, args: &UndoArgs) -> Result<Exit, Failure> {
    let force = args.force;
    let purpose = Purpose::Undo { force };
    let mut transaction = work.pick(Some(id), purpose)?;
    if !purpose.fits(transaction.journal().phase()) {
        output::say(&format!("transaction {id} was undone before"));
        show(&transaction, args.output.json)?;
        return Ok(Exit::Done);
    }
    work.check_here(&transaction)?;
    work.may_undo(&transaction)?;
    let outcomes = transaction
        .undo("asked for", force)
        .map_err(Failure::environment)?;
    show(&transaction, args.output.json)?;
    output::say(&format!(
        "transaction {id} undone{}",
        words::left(&outcomes)
    ));
    let left = outcomes.iter().any(|(_, outcome)| outcome.is_left());
    Ok(if left { Exit::Negative } else { Exit::Done })
}

fn show(transaction: &Transaction<'_>, json: bool) -> Result<(), Failure> {
    if json {
        output::print_json(&transaction.report())
    } else {
        Ok(())
    }
}
