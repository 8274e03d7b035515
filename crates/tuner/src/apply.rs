//! From changes to settings: checked, journaled, written, read back, and kept or put back.

use std::net::IpAddr;
use std::time::Duration;

use nicety_advisor::transaction::unfinished;
use nicety_model::journal::{Event, same_value};
use nicety_model::knob::Change;

use crate::error::Stop;
use crate::path_mtu::PathCheck;
use crate::{Listener, Transaction, TuneError, TuneEvent, Work, guard};

/// Whether the changes can begin: no other transaction waits, the rights are there, and every setting is as
/// the plan says.
///
/// # Errors
/// [`TuneError::Unfinished`], [`TuneError::Knob`], [`TuneError::Moved`].
pub fn check(work: &Work, changes: &[&Change], listener: Listener<'_>) -> Result<(), TuneError> {
    if let Some(id) = unfinished(&work.phases()?) {
        return Err(TuneError::Unfinished { id });
    }
    // Without rights no journal is left.
    work.may_write(changes.iter().map(|change| &change.knob))?;
    let mut settings = 0;
    for change in changes {
        let event = match work.knobs.read(&change.knob) {
            Ok(found) if same_value(&change.knob, &found, &change.from) => continue,
            Ok(found) => TuneEvent::Differs {
                change: (*change).clone(),
                found,
            },
            Err(error) => TuneEvent::Unreadable(error),
        };
        settings += 1;
        listener(event);
    }
    match settings {
        0 => Ok(()),
        settings => Err(TuneError::Moved { settings }),
    }
}

/// Makes all changes under a guard that undoes them as soon as this process ends, until
/// [`Transaction::keep`]. When one fails, or `peer` does not answer packets of a larger MTU,
/// everything is as it was.
///
/// # Errors
/// Why nothing was changed, or [`TuneError::TakenBack`].
pub fn apply<'w>(
    work: &'w Work,
    changes: &[&Change],
    confirm_within: Duration,
    peer: Option<IpAddr>,
) -> Result<Transaction<'w>, TuneError> {
    let path = PathCheck::before(peer, changes)?;
    let mut transaction = Transaction::begin(work, confirm_within)?;
    if let Err(error) = guard::start(work.state.path(), transaction.id()) {
        // Without a guard nothing is changed; the journal says that nothing was.
        transaction.append(Event::RolledBack)?;
        return Err(error);
    }
    let done = transaction.write(changes);
    match done.and_then(|()| path.map_or(Ok(()), |path| path.after())) {
        Ok(()) => Ok(transaction),
        Err(stop) => Err(transaction.taken_back(stop)),
    }
}

impl Transaction<'_> {
    /// From now on it waits for its confirmation. When that cannot be written down everything is as
    /// it was.
    ///
    /// # Errors
    /// [`TuneError::TakenBack`].
    pub fn keep(&mut self, confirm_within: Duration) -> Result<(), TuneError> {
        let waits = self.wait(confirm_within);
        waits.map_err(|error| self.taken_back(Stop::Journal(error)))
    }

    fn taken_back(&mut self, stop: Stop) -> TuneError {
        let undone = self.undo(&stop.to_string(), false);
        let stop = Box::new(stop);
        TuneError::TakenBack { stop, undone }
    }
}

/// Makes changes that nobody has to confirm: they cut no connection, or the boot itself asks. Returns
/// the transaction's number. When one fails everything is as it was.
///
/// # Errors
/// Why nothing was changed, or [`TuneError::NotCommitted`].
pub fn commit(work: &Work, changes: &[&Change]) -> Result<u32, TuneError> {
    // Without rights no journal is left.
    work.may_write(changes.iter().map(|change| &change.knob))?;
    let mut transaction = Transaction::begin(work, Duration::ZERO)?;
    if let Err(stop) = transaction.write(changes) {
        let outcomes = transaction.undo(&stop.to_string(), false)?;
        let stop = Box::new(stop);
        return Err(TuneError::NotCommitted { stop, outcomes });
    }
    transaction.wait(Duration::ZERO)?;
    transaction.append(Event::Confirmed)?;
    Ok(transaction.id())
}
