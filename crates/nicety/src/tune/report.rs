//! Transactions for people and programs.

use nicety_model::SCHEMA;
use nicety_model::journal::{Journal, Outcome, Phase, SettingReport, Step, TransactionReport};
use nicety_model::knob::Knob;

/// A transaction as it stands.
pub fn transaction(id: u32, journal: &Journal) -> TransactionReport {
    let outcomes = journal.outcomes();
    let settings = journal.steps().into_iter().map(|step| {
        let last = outcomes
            .iter()
            .rev()
            .find(|(knob, _)| **knob == step.change.knob);
        SettingReport {
            outcome: last.map(|(_, outcome)| (*outcome).clone()),
            knob: step.change.knob,
            from: step.change.from,
            to: step.change.to,
            found: None,
        }
    });
    TransactionReport {
        schema: SCHEMA,
        transaction: id,
        phase: phase(journal.phase()).to_owned(),
        settings: settings.collect(),
    }
}

/// The phase in one word.
pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Applying => "applying",
        Phase::Unconfirmed { .. } => "unconfirmed",
        Phase::Confirmed => "confirmed",
        Phase::Undoing => "undoing",
        Phase::RolledBack => "rolled-back",
    }
}

/// What was left, for the end of a sentence; nothing when all is as it was.
pub fn outcomes(outcomes: &[(Step, Outcome)]) -> String {
    let left: Vec<String> = outcomes
        .iter()
        .filter_map(|(step, outcome)| outcome_words(&step.change.knob.to_string(), outcome))
        .collect();
    match left.is_empty() {
        true => String::new(),
        false => format!("; {}", left.join("; ")),
    }
}

/// What became of a setting that has not its old value.
pub fn outcome_words(knob: &str, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Restored | Outcome::Untouched => None,
        Outcome::Foreign { found } => Some(format!(
            "{knob} was changed{} by somebody else and is left alone (--force overwrites it)",
            // The text of a file is no word for a line.
            if found.contains('\n') {
                String::new()
            } else {
                format!(" to {found}")
            }
        )),
        Outcome::Gone => Some(format!("{knob} is not there any more")),
        Outcome::Failed { why } => Some(format!("{knob} could not be restored: {why}")),
    }
}

/// Whether somebody has to look at it.
pub fn is_left(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Foreign { .. } | Outcome::Failed { .. })
}

/// A value in few words: of a file, its length.
pub fn value(knob: &Knob, value: &str) -> String {
    match knob {
        Knob::File { .. } if value.is_empty() => "no file".to_owned(),
        Knob::File { .. } => format!("{} lines", value.lines().count()),
        _ => value.to_owned(),
    }
}
