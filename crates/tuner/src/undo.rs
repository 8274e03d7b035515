//! Puts settings back.

use nicety_advisor::transaction::undo::{self, Restore};
use nicety_host::journal::JournalError;
use nicety_host::knob::{KnobError, Knobs};
use nicety_model::journal::{Event, Outcome, Step};
use nicety_model::knob::Change;

use crate::Transaction;

impl Transaction<'_> {
    /// Undoes what it did, last change first, and says so in the journal. Goes on when the journal
    /// cannot be written: the old settings matter more than the note of it.
    ///
    /// # Errors
    /// The first error of the journal, after everything has been done.
    pub fn undo(&mut self, why: &str, force: bool) -> Result<Vec<(Step, Outcome)>, JournalError> {
        let steps = undo::steps(self.journal(), force);
        let mut result = self.append(Event::Undoing {
            why: why.to_owned(),
        });
        let mut outcomes = Vec::new();
        for step in steps {
            let outcome = put_back(self.knobs, &step, force);
            let event = Event::Undone {
                knob: step.change.knob.clone(),
                outcome: outcome.clone(),
            };
            result = result.and(self.append(event));
            outcomes.push((step, outcome));
        }
        result.and(self.append(Event::RolledBack))?;
        Ok(outcomes)
    }
}

fn put_back(knobs: &Knobs, step: &Step, force: bool) -> Outcome {
    let Change { knob, from, .. } = &step.change;
    let found = match knobs.read(knob) {
        Ok(found) => found,
        Err(error) => {
            if error.is_gone() {
                // What it has left limits nothing.
                let _ = knobs.tidy(knob);
            }
            return failed(error);
        }
    };
    match undo::restore(step, &found, force) {
        Restore::Untouched => {
            // What cannot be tidied up limits nothing.
            let _ = knobs.tidy(knob);
            Outcome::Untouched
        }
        Restore::Foreign => Outcome::Foreign { found },
        Restore::Write => match knobs.write(knob, from).and_then(|()| knobs.read(knob)) {
            Ok(now) => undo::restored(&step.change, &now),
            Err(error) => failed(error),
        },
    }
}

fn failed(error: KnobError) -> Outcome {
    if error.is_gone() {
        Outcome::Gone
    } else {
        Outcome::Failed {
            why: error.to_string(),
        }
    }
}
