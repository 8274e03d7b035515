//! `nicety tune confirm`, `rollback`, `verify` and `history`.

use anyhow::anyhow;
use nicety_advisor::transaction::{Confirmation, Purpose, words};
use nicety_model::SCHEMA;
use nicety_model::journal::{History, TransactionReport};
use nicety_model::knob::Knob;
use nicety_tuner::{Transaction, TuneEvent, work};

use super::events;
use crate::cli::tune::{HistoryArgs, RollbackArgs, TransactionArgs};
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
    show(&transaction, args.json)?;
    match answer {
        Confirmation::Kept | Confirmation::KeptBefore => Ok(Exit::Done),
        Confirmation::TooLate(phase) => Err(Failure {
            exit: Exit::Negative,
            error: anyhow!(
                "transaction {id} is {}, it cannot be confirmed any more",
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
    } = args;
    let work = of.state.begin()?;
    let purpose = Purpose::Rollback { force: *force };
    let mut transaction = work.pick(of.id, purpose)?;
    let id = transaction.id();
    if !purpose.fits(transaction.journal().phase()) {
        output::say(&format!("transaction {id} has been undone before"));
        show(&transaction, of.json)?;
        return Ok(Exit::Done);
    }
    work.check_here(&transaction)?;
    let outcomes = transaction
        .undo("asked for", *force)
        .map_err(Failure::environment)?;
    show(&transaction, of.json)?;
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
    if args.json {
        output::print_json(&report)?;
    } else {
        let lines = report.settings.iter().map(|setting| {
            let knob = &setting.knob;
            let verdict = if setting.holds() { "holds" } else { "drifted" };
            let found = setting.found.as_deref().unwrap_or_default();
            let (set, now) = (value(knob, &setting.to), value(knob, found));
            format!("{knob}: {verdict}: {set} set, {now} now\n")
        });
        output::print(&lines.collect::<String>())?;
    }
    let all = report.settings.len();
    let drifted = report.settings.iter().filter(|s| !s.holds()).count();
    if drifted == 0 {
        return Ok(Exit::Done);
    }
    output::say(&format!(
        "transaction {}: {drifted} of {all} settings drifted",
        transaction.id()
    ));
    Ok(Exit::Negative)
}

/// Lists all transactions; changes nothing.
pub fn history(args: &HistoryArgs) -> Result<Exit, Failure> {
    let state = work::directory(args.state.state.as_deref())?;
    let all = state.journals().map_err(Failure::environment)?;
    for error in all.unreadable {
        events::say(TuneEvent::UnreadableJournal(error));
    }
    let journals = all.readable;
    let reports = journals
        .iter()
        .map(|(id, journal)| TransactionReport::new(*id, journal));
    if args.json {
        output::print_json(&History {
            schema: SCHEMA,
            transactions: reports.collect(),
        })?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (report, (_, journal)) in reports.zip(&journals) {
        let why = journal.why_undone().map(|why| format!(" ({why})"));
        text += &format!(
            "{} {}{}\n",
            report.transaction,
            report.phase,
            why.unwrap_or_default()
        );
        for setting in &report.settings {
            let knob = &setting.knob;
            let (from, to) = (value(knob, &setting.from), value(knob, &setting.to));
            text += &format!("    {knob}: {from} → {to}");
            let left = setting.outcome.as_ref();
            if let Some(words) = left.and_then(|left| words::outcome("it", left)) {
                text += &format!("; {words}");
            }
            text.push('\n');
        }
    }
    if journals.is_empty() {
        text = format!("no transactions in {}\n", state.path().display());
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

/// A value in few words: of a file, its length.
fn value(knob: &Knob, value: &str) -> String {
    match knob {
        Knob::File { .. } if value.is_empty() => "no file".to_owned(),
        Knob::File { .. } => format!("{} lines", value.lines().count()),
        _ => value.to_owned(),
    }
}

fn show(transaction: &Transaction<'_>, json: bool) -> Result<(), Failure> {
    match json {
        true => output::print_json(&transaction.report()),
        false => Ok(()),
    }
}
