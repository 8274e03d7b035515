//! Changes settings under a journal, and changes them back.

use anyhow::anyhow;
use nicety_host::journal::{JournalError, JournalFile};
use nicety_host::knob::{KnobError, Knobs};
use nicety_model::journal::{Event, Journal, Outcome, Step, same_value};
use nicety_model::knob::Change;

/// Why an apply stopped.
#[derive(Debug)]
pub enum Stop {
    /// A setting was refused, or kept another value.
    Setting(anyhow::Error, Need),
    /// The journal could not be written.
    Journal(JournalError),
}

/// Whether more rights would have helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Yes.
    Root,
    /// No.
    Nothing,
}

/// Settings that are not as the plan says, one line each.
pub fn moved(knobs: &Knobs, changes: &[&Change]) -> Vec<String> {
    let mut moved = Vec::new();
    for change in changes {
        match knobs.read(&change.knob) {
            Ok(found) if same_value(&change.knob, &found, &change.from) => {}
            Ok(found) => moved.push(format!(
                "{} is {found}, the plan says {}",
                change.knob, change.from
            )),
            Err(error) => moved.push(error.to_string()),
        }
    }
    moved
}

/// Writes all changes, each after its intent is on disk, and reads each back.
pub fn write_all(knobs: &Knobs, file: &mut JournalFile, changes: &[&Change]) -> Result<(), Stop> {
    for change in changes {
        let intent = Event::Intent {
            change: (*change).clone(),
        };
        file.append(&intent).map_err(Stop::Journal)?;
        let found = write_one(knobs, change)?;
        file.append(&Event::Written { found })
            .map_err(Stop::Journal)?;
    }
    Ok(())
}

fn write_one(knobs: &Knobs, change: &Change) -> Result<String, Stop> {
    let stop = |error: KnobError| {
        let need = match &error {
            KnobError::Net(net) if net.is_not_permitted() => Need::Root,
            _ => Need::Nothing,
        };
        Stop::Setting(error.into(), need)
    };
    knobs.write(&change.knob, &change.to).map_err(stop)?;
    let found = knobs.read(&change.knob).map_err(stop)?;
    if same_value(&change.knob, &found, &change.to) {
        return Ok(found);
    }
    Err(Stop::Setting(
        anyhow!(
            "{}: {} was written, the kernel says {found}",
            change.knob,
            change.to
        ),
        Need::Nothing,
    ))
}

/// Undoes what a journal holds, last change first, and says so in it. Goes on when the journal
/// cannot be written: the old settings matter more than the note of it.
///
/// # Errors
/// The first error of the journal, after everything has been done.
pub fn undo(
    knobs: &Knobs,
    journal: &Journal,
    file: &mut JournalFile,
    why: &str,
    force: bool,
) -> Result<Vec<(Step, Outcome)>, JournalError> {
    let mut result = file.append(&Event::Undoing {
        why: why.to_owned(),
    });
    let mut outcomes = Vec::new();
    for step in left(journal, force) {
        let outcome = undo_one(knobs, &step, force);
        let event = Event::Undone {
            knob: step.change.knob.clone(),
            outcome: outcome.clone(),
        };
        result = result.and(file.append(&event));
        outcomes.push((step, outcome));
    }
    result.and(file.append(&Event::RolledBack))?;
    Ok(outcomes)
}

/// What is to be undone; by force also what an earlier attempt left alone.
fn left(journal: &Journal, force: bool) -> Vec<Step> {
    if !force {
        return journal.to_undo();
    }
    let outcomes = journal.outcomes();
    let done = |step: &Step| {
        let last = outcomes
            .iter()
            .rev()
            .find(|(knob, _)| **knob == step.change.knob);
        matches!(last, Some((_, Outcome::Restored | Outcome::Untouched)))
    };
    let mut steps = journal.steps();
    steps.retain(|step| !done(step));
    steps.reverse();
    steps
}

fn undo_one(knobs: &Knobs, step: &Step, force: bool) -> Outcome {
    let Change { knob, from, to } = &step.change;
    let failed = |error: KnobError| match error.is_gone() {
        true => Outcome::Gone,
        false => Outcome::Failed {
            why: error.to_string(),
        },
    };
    let found = match knobs.read(knob) {
        Ok(found) => found,
        Err(error) if error.is_gone() => {
            // What it has left limits nothing.
            let _ = knobs.tidy(knob);
            return Outcome::Gone;
        }
        Err(error) => return failed(error),
    };
    if same_value(knob, &found, from) {
        // What cannot be tidied up limits nothing.
        let _ = knobs.tidy(knob);
        return Outcome::Untouched;
    }
    // A write that was not read back may have left what the kernel made of it: only the value
    // asked for is known to be ours then.
    let ours = step.found.as_deref().unwrap_or(to);
    if !force && !same_value(knob, &found, ours) && !same_value(knob, &found, to) {
        return Outcome::Foreign { found };
    }
    if let Err(error) = knobs.write(knob, from) {
        return failed(error);
    }
    match knobs.read(knob) {
        Ok(now) if same_value(knob, &now, from) => Outcome::Restored,
        Ok(now) => Outcome::Failed {
            why: format!("{from} was written, the kernel says {now}"),
        },
        Err(error) => failed(error),
    }
}
