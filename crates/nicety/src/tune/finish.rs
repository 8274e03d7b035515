//! `nicety tune confirm`, `rollback`, `verify` and `history`.

use anyhow::anyhow;
use nicety_host::journal::since_boot;
use nicety_model::SCHEMA;
use nicety_model::journal::{Event, History, Journal, Phase, same_value};

use super::state::{self, Work};
use super::{plan, print_json, report, transaction};
use crate::cli::tune::{HistoryArgs, RollbackArgs, TransactionArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Keeps a transaction.
pub fn confirm(args: &TransactionArgs) -> Result<Exit, Failure> {
    let work = Work::begin(args.state.as_deref())?;
    let (id, journal) = work.pick(args.id, |phase| matches!(phase, Phase::Unconfirmed { .. }))?;
    match journal.phase() {
        // `Work::begin` has undone those whose time is over.
        Phase::Unconfirmed { deadline_s } if since_boot().as_secs_f64() < deadline_s => {
            let mut file = work.state.append_to(id).map_err(Failure::environment)?;
            file.append(&Event::Confirmed)
                .map_err(Failure::environment)?;
            output::say(&format!(
                "transaction {id} is kept; nicety tune rollback {id} undoes it"
            ));
            show(&work, id, args.json)?;
            Ok(Exit::Done)
        }
        Phase::Confirmed => {
            output::say(&format!("transaction {id} was confirmed before"));
            show(&work, id, args.json)?;
            Ok(Exit::Done)
        }
        other => {
            show(&work, id, args.json)?;
            Err(Failure {
                exit: Exit::Negative,
                error: anyhow!(
                    "transaction {id} is {}, it cannot be confirmed any more",
                    report::phase(other)
                ),
            })
        }
    }
}

/// Undoes a transaction.
pub fn rollback(args: &RollbackArgs) -> Result<Exit, Failure> {
    let asked = &args.transaction;
    let work = Work::begin(asked.state.as_deref())?;
    let open = |phase: &Phase| *phase != Phase::RolledBack || args.force;
    let (id, journal) = work.pick(asked.id, open)?;
    if journal.phase() == Phase::RolledBack && !args.force {
        output::say(&format!("transaction {id} has been undone before"));
        show(&work, id, asked.json)?;
        return Ok(Exit::Done);
    }
    work.check_here(id, &journal)?;
    let mut file = work.state.append_to(id).map_err(Failure::environment)?;
    let outcomes = transaction::undo(&work.knobs, &journal, &mut file, "asked for", args.force)
        .map_err(Failure::environment)?;
    show(&work, id, asked.json)?;
    output::say(&format!(
        "transaction {id} undone{}",
        report::outcomes(&outcomes)
    ));
    Ok(
        match outcomes.iter().any(|(_, outcome)| report::is_left(outcome)) {
            true => Exit::Negative,
            false => Exit::Done,
        },
    )
}

/// Looks whether the settings of a transaction still hold.
pub fn verify(args: &TransactionArgs) -> Result<Exit, Failure> {
    let work = Work::begin(args.state.as_deref())?;
    let kept = |phase: &Phase| matches!(phase, Phase::Confirmed | Phase::Unconfirmed { .. });
    let (id, journal) = work.pick(args.id, kept)?;
    if !kept(&journal.phase()) {
        return Err(Failure::usage(anyhow!(
            "transaction {id} is {}; there is nothing to verify",
            report::phase(journal.phase())
        )));
    }
    work.check_here(id, &journal)?;
    let mut told = report::transaction(id, &journal);
    let mut drifted = 0;
    let mut lines = String::new();
    for setting in &mut told.settings {
        let found = work
            .knobs
            .read(&setting.knob)
            .unwrap_or_else(|error| error.to_string());
        let holds = same_value(&setting.knob, &found, &setting.to);
        drifted += usize::from(!holds);
        let verdict = if holds { "holds" } else { "drifted" };
        lines += &format!(
            "{}: {verdict}: {} set, {} now\n",
            setting.knob,
            report::value(&setting.knob, &setting.to),
            report::value(&setting.knob, &found)
        );
        setting.found = Some(found);
    }
    match args.json {
        true => print_json(&told)?,
        false => plan::print(&lines)?,
    }
    if drifted == 0 {
        return Ok(Exit::Done);
    }
    output::say(&format!(
        "transaction {id}: {drifted} of {} settings drifted",
        told.settings.len()
    ));
    Ok(Exit::Negative)
}

/// Lists all transactions; changes nothing.
pub fn history(args: &HistoryArgs) -> Result<Exit, Failure> {
    let state = state::directory(args.state.as_deref())?;
    let mut transactions = Vec::new();
    for id in state.ids().map_err(Failure::environment)? {
        let journal = state.read(id).map_err(Failure::environment)?;
        transactions.push((report::transaction(id, &journal), journal));
    }
    if args.json {
        let transactions = transactions.into_iter().map(|(told, _)| told).collect();
        let history = History {
            schema: SCHEMA,
            transactions,
        };
        print_json(&history)?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (told, journal) in &transactions {
        text += &format!("{} {}{}\n", told.transaction, told.phase, reason(journal));
        for setting in &told.settings {
            let (from, to) = (&setting.from, &setting.to);
            text += &format!(
                "    {}: {} → {}",
                setting.knob,
                report::value(&setting.knob, from),
                report::value(&setting.knob, to)
            );
            let left = setting.outcome.as_ref();
            if let Some(words) = left.and_then(|o| report::outcome_words("it", o)) {
                text += &format!("; {words}");
            }
            text.push('\n');
        }
    }
    if transactions.is_empty() {
        text = format!("no transactions in {}\n", state.path().display());
    }
    plan::print(&text)?;
    Ok(Exit::Done)
}

fn reason(journal: &Journal) -> String {
    let why = journal.events.iter().rev().find_map(|event| match event {
        Event::Undoing { why } => Some(why),
        _ => None,
    });
    why.map(|why| format!(" ({why})")).unwrap_or_default()
}

fn show(work: &Work, id: u32, json: bool) -> Result<(), Failure> {
    if json {
        let journal = work.state.read(id).map_err(Failure::environment)?;
        print_json(&report::transaction(id, &journal))?;
    }
    Ok(())
}
