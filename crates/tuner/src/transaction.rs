//! One transaction: every step is in its journal, and on disk, before the next one is done.

use std::time::Duration;

use nicety_advisor::transaction::{Confirmation, confirmation};
use nicety_host::journal::{JournalError, JournalFile, StateDir, since_boot};
use nicety_host::knob::Knobs;
use nicety_model::SCHEMA;
use nicety_model::journal::{Event, Journal, TransactionReport, same_value};
use nicety_model::knob::Change;

use crate::error::Stop;
use crate::{Work, origin};

/// A transaction under the lock.
#[derive(Debug)]
pub struct Transaction<'w> {
    pub(crate) knobs: &'w Knobs,
    id: u32,
    file: JournalFile,
    /// What the file holds.
    journal: Journal,
}

impl<'w> Transaction<'w> {
    /// A new one, with nothing changed.
    pub(crate) fn begin(work: &'w Work, confirm_within: Duration) -> Result<Self, JournalError> {
        let id = work.state.ids()?.last().map_or(1, |last| last + 1);
        let mut new = Self {
            knobs: &work.knobs,
            id,
            file: work.state.create(id)?,
            journal: Journal::default(),
        };
        new.append(Event::Begin {
            schema: SCHEMA,
            id,
            boot_id: work.boot_id.clone(),
            netns: work.knobs.namespace(),
            confirm_within_s: confirm_within.as_secs_f64(),
            origin: Some(origin::now()),
        })?;
        Ok(new)
    }

    /// One that is there.
    pub(crate) fn resume(
        state: &StateDir,
        knobs: &'w Knobs,
        id: u32,
        journal: Journal,
    ) -> Result<Self, JournalError> {
        let file = state.append_to(id)?;
        Ok(Self {
            knobs,
            id,
            file,
            journal,
        })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What it did so far.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// As it stands, for people and programs.
    pub fn report(&self) -> TransactionReport {
        TransactionReport::new(self.id, &self.journal)
    }

    pub(crate) fn append(&mut self, event: Event) -> Result<(), JournalError> {
        self.file.append(&event)?;
        self.journal.events.push(event);
        Ok(())
    }

    /// Writes all changes, each after its intent is on disk, and reads each back.
    pub(crate) fn write(&mut self, changes: &[&Change]) -> Result<(), Stop> {
        for change in changes {
            self.append(Event::Intent {
                change: (*change).clone(),
            })?;
            let found = self.write_one(change)?;
            self.append(Event::Written { found })?;
        }
        Ok(())
    }

    fn write_one(&self, change: &Change) -> Result<String, Stop> {
        let Change { knob, to, .. } = change;
        self.knobs.write(knob, to)?;
        let found = self.knobs.read(knob)?;
        if same_value(knob, &found, to) {
            Ok(found)
        } else {
            Err(Stop::ReadBack {
                knob: knob.clone(),
                to: to.clone(),
                found,
            })
        }
    }

    /// From now on it waits so long for its confirmation.
    pub(crate) fn wait(&mut self, confirm_within: Duration) -> Result<(), JournalError> {
        let deadline_s = (since_boot() + confirm_within).as_secs_f64();
        self.append(Event::Applied { deadline_s })
    }

    /// Keeps it, when it is not too late.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn confirm(&mut self) -> Result<Confirmation, JournalError> {
        let answer = confirmation(self.journal.phase(), since_boot().as_secs_f64());
        if answer == Confirmation::Kept {
            self.append(Event::Confirmed)?;
        }
        Ok(answer)
    }
}
