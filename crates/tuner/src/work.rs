//! The state directory, and what is found in it at every start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_advisor::transaction::{self, Elsewhere, Here, Meant, Purpose, Recovery};
use nicety_host::journal::{JournalError, Lock, StateDir, boot_id, since_boot};
use nicety_host::knob::{KnobError, Knobs};
use nicety_host::roots::ProcRoot;
use nicety_model::journal::{Event, Journal, Phase};
use nicety_model::knob::Knob;

use crate::{Listener, Transaction, TuneError, TuneEvent};

/// How long another one may hold the lock before this one gives up.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where root's journals are.
const SYSTEM: &str = "/var/lib/nicety";

/// The directory asked for, or the usual one: root's, else the user's (XDG base directories).
///
/// # Errors
/// When there is none, or it cannot be made.
pub fn directory(asked: Option<&Path>) -> Result<StateDir, TuneError> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => usual()?,
    };
    Ok(StateDir::open(&path)?)
}

/// The usual directory, whether it is there or not.
///
/// # Errors
/// [`TuneError::NoStateDirectory`].
pub fn usual() -> Result<PathBuf, TuneError> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from(SYSTEM));
    }
    let folder = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let home = || Some(folder("HOME")?.join(".local/state"));
    let base = folder("XDG_STATE_HOME").or_else(home);
    Ok(base.ok_or(TuneError::NoStateDirectory)?.join("nicety"))
}

/// The state, locked, with every transaction that was left behind undone.
#[derive(Debug)]
pub struct Work {
    /// The journals.
    pub state: StateDir,
    /// The settings.
    pub knobs: Knobs,
    /// What the kernel calls this boot.
    pub boot_id: String,
    /// Given up with the value.
    _lock: Lock,
}

impl Work {
    /// Takes the lock, then undoes what a killed program left half done.
    ///
    /// # Errors
    /// When the state or the settings cannot be reached.
    pub fn begin(asked: Option<&Path>, listener: Listener<'_>) -> Result<Self, TuneError> {
        let state = directory(asked)?;
        let lock = state.lock(PATIENCE)?;
        let work = Self {
            knobs: Knobs::open()?,
            boot_id: boot_id(&ProcRoot::live()),
            state,
            _lock: lock,
        };
        let journals = work.state.journals()?;
        for error in journals.unreadable {
            listener(TuneEvent::UnreadableJournal(error));
        }
        for (id, journal) in journals.readable {
            if let Some(event) = work.recover(id, journal)? {
                listener(event);
            }
        }
        Ok(work)
    }

    pub(crate) fn here(&self) -> Here<'_> {
        Here {
            boot_id: &self.boot_id,
            netns: self.knobs.namespace(),
            now_s: since_boot().as_secs_f64(),
        }
    }

    fn recover(&self, id: u32, journal: Journal) -> Result<Option<TuneEvent>, TuneError> {
        match transaction::recovery(&journal, self.here()) {
            Recovery::None => Ok(None),
            Recovery::NeverBegan => {
                self.state.append_to(id)?.append(&Event::RolledBack)?;
                Ok(None)
            }
            Recovery::GoneWithBoot => {
                let mut file = self.state.append_to(id)?;
                file.append(&Event::Undoing {
                    why: "the host has rebooted".to_owned(),
                })?;
                file.append(&Event::RolledBack)?;
                Ok(Some(TuneEvent::GoneWithBoot { id }))
            }
            Recovery::InNamespace(netns) => Ok(Some(TuneEvent::InNamespace { id, netns })),
            Recovery::Undo(cause) => {
                let mut left = Transaction::resume(&self.state, &self.knobs, id, journal)?;
                self.may_undo(&left)?;
                let outcomes = left.undo(cause.words(), false)?;
                Ok(Some(TuneEvent::Recovered {
                    id,
                    cause,
                    outcomes,
                }))
            }
        }
    }

    /// Every transaction that can be read, and where it stands.
    pub(crate) fn phases(&self) -> Result<Vec<(u32, Phase)>, JournalError> {
        let all = self.state.journals()?.readable.into_iter();
        Ok(all.map(|(id, journal)| (id, journal.phase())).collect())
    }

    /// The transactions that `purpose` means when none is named, the newest first.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn meant(&self, purpose: Purpose) -> Result<Meant, JournalError> {
        let all = self.state.journals()?.readable;
        Ok(transaction::meant(&all, purpose, self.here()))
    }

    /// The transaction meant by `named`, or the last one that fits.
    ///
    /// # Errors
    /// [`TuneError::NoTransaction`], and when the one that is named cannot be read.
    pub fn pick(&self, named: Option<u32>, purpose: Purpose) -> Result<Transaction<'_>, TuneError> {
        let there = named.filter(|id| self.state.ids().is_ok_and(|ids| ids.contains(id)));
        let id = match named {
            Some(_) => there,
            None => self.meant(purpose)?.ids.first().copied(),
        };
        let id = id.ok_or_else(|| self.no_transaction(named))?;
        let journal = self.state.read(id)?;
        Ok(Transaction::resume(&self.state, &self.knobs, id, journal)?)
    }

    /// Refuses a transaction of another boot or namespace.
    ///
    /// # Errors
    /// [`TuneError::OtherBoot`], [`TuneError::OtherNamespace`].
    pub fn check_here(&self, transaction: &Transaction<'_>) -> Result<(), TuneError> {
        let id = transaction.id();
        transaction::is_here(transaction.journal(), self.here()).map_err(
            |elsewhere| match elsewhere {
                Elsewhere::Boot => TuneError::OtherBoot { id },
                Elsewhere::Namespace(netns) => TuneError::OtherNamespace { id, netns },
            },
        )
    }

    /// Refuses to undo a transaction without the rights for it: the attempt would close its journal, and
    /// nobody could undo it any more.
    ///
    /// # Errors
    /// [`TuneError::NotUndone`].
    pub fn may_undo(&self, transaction: &Transaction<'_>) -> Result<(), TuneError> {
        let id = transaction.id();
        let steps = transaction.journal().steps();
        let knobs = steps.iter().map(|step| &step.change.knob);
        self.may_write(knobs)
            .map_err(|source| TuneError::NotUndone { id, source })
    }

    /// Refuses settings that this process may not change. What is no setting at all is found out later.
    pub(crate) fn may_write<'a>(
        &self,
        mut knobs: impl Iterator<Item = &'a Knob>,
    ) -> Result<(), KnobError> {
        let refused = |knob| {
            let asked = self.knobs.may_write(knob);
            asked.err().filter(|e| matches!(e, KnobError::Net(_)))
        };
        knobs.find_map(refused).map_or(Ok(()), Err)
    }

    pub(crate) fn no_transaction(&self, id: Option<u32>) -> TuneError {
        TuneError::NoTransaction {
            id,
            path: self.state.path().to_owned(),
        }
    }
}
