//! The state directory, and what is found in it at every start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use nicety_host::journal::{JournalError, Lock, StateDir, boot_id, since_boot};
use nicety_host::knob::Knobs;
use nicety_host::topology::ProcRoot;
use nicety_model::journal::{Event, Journal, Phase};

use super::transaction;
use crate::exit::Failure;
use crate::output;

/// How long another one may hold the lock before this one gives up.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where root's journals are.
const SYSTEM: &str = "/var/lib/nicety";

/// The directory asked for, or the usual one: root's, else the user's (XDG base directories).
pub fn directory(asked: Option<&Path>) -> Result<StateDir, Failure> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => usual()?,
    };
    StateDir::open(&path).map_err(Failure::environment)
}

/// The usual directory, whether it is there or not.
pub fn usual() -> Result<PathBuf, Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from(SYSTEM));
    }
    let folder = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let home = || Some(folder("HOME")?.join(".local/state"));
    let base = folder("XDG_STATE_HOME").or_else(home).ok_or_else(|| {
        Failure::usage(anyhow!(
            "neither XDG_STATE_HOME nor HOME is set; give --state a directory"
        ))
    })?;
    Ok(base.join("nicety"))
}

/// The state, locked, with every transaction that was left behind undone.
#[derive(Debug)]
pub struct Work {
    pub state: StateDir,
    pub knobs: Knobs,
    pub boot_id: String,
    /// Given up with the value.
    _lock: Lock,
}

impl Work {
    /// Takes the lock, then undoes what a killed program left half done.
    pub fn begin(asked: Option<&Path>) -> Result<Self, Failure> {
        let state = directory(asked)?;
        let lock = state.lock(PATIENCE).map_err(Failure::environment)?;
        let work = Self {
            knobs: Knobs::open().map_err(Failure::environment)?,
            boot_id: boot_id(&ProcRoot::live()),
            state,
            _lock: lock,
        };
        for id in work.state.ids().map_err(Failure::environment)? {
            match work.recover(id) {
                Ok(Some(line)) => output::say(&line),
                Ok(None) => {}
                Err(error) => return Err(Failure::environment(error)),
            }
        }
        Ok(work)
    }

    /// Undoes a transaction that nobody confirmed in time, or whose program died; returns what
    /// to tell.
    fn recover(&self, id: u32) -> Result<Option<String>, JournalError> {
        let journal = self.state.read(id)?;
        let Some((_, boot, netns)) = journal.head() else {
            // Killed before the first line was whole: nothing had been changed.
            let mut file = self.state.append_to(id)?;
            file.append(&Event::RolledBack)?;
            return Ok(None);
        };
        let why = match journal.phase() {
            Phase::RolledBack | Phase::Confirmed => return Ok(None),
            Phase::Unconfirmed { deadline_s } => {
                if boot == self.boot_id && since_boot().as_secs_f64() < deadline_s {
                    return Ok(None);
                }
                "not confirmed in time"
            }
            Phase::Applying => "the program ended while it applied",
            Phase::Undoing => "the program ended while it undid",
        };
        let lasting = journal.outlives_boot();
        if boot != self.boot_id && !lasting {
            let mut file = self.state.append_to(id)?;
            file.append(&Event::Undoing {
                why: "the machine has booted since, and the settings went with it".to_owned(),
            })?;
            file.append(&Event::RolledBack)?;
            return Ok(Some(format!("transaction {id}: gone with the last boot")));
        }
        if netns != self.knobs.namespace() && !lasting {
            return Ok(Some(format!(
                "transaction {id} was left behind in another network namespace (inode {netns}); \
                 run nicety tune rollback {id} there"
            )));
        }
        let mut file = self.state.append_to(id)?;
        let outcomes = transaction::undo(&self.knobs, &journal, &mut file, why, false)?;
        let told = super::report::outcomes(&outcomes);
        Ok(Some(format!("transaction {id} undone, {why}{told}")))
    }

    /// The journal meant by `asked`, or the last one that `fits`.
    pub fn pick(
        &self,
        asked: Option<u32>,
        fits: impl Fn(&Phase) -> bool,
    ) -> Result<(u32, Journal), Failure> {
        let ids = self.state.ids().map_err(Failure::environment)?;
        let read = |id: u32| self.state.read(id).map_err(Failure::environment);
        if let Some(id) = asked {
            if !ids.contains(&id) {
                let path = self.state.path().display().to_string();
                return Err(Failure::usage(anyhow!(
                    "there is no transaction {id} in {path}; see nicety tune history"
                )));
            }
            return Ok((id, read(id)?));
        }
        for id in ids.into_iter().rev() {
            let journal = read(id)?;
            if fits(&journal.phase()) {
                return Ok((id, journal));
            }
        }
        Err(Failure::usage(anyhow!(
            "there is no such transaction in {}; see nicety tune history",
            self.state.path().display()
        )))
    }

    /// Refuses a journal of another boot or namespace.
    pub fn check_here(&self, id: u32, journal: &Journal) -> Result<(), Failure> {
        if journal.outlives_boot() {
            return Ok(());
        }
        match journal.head() {
            Some((_, boot, _)) if boot != self.boot_id => Err(Failure::usage(anyhow!(
                "transaction {id} belongs to an earlier boot, its settings went with it; nicety tune boot --check looks at what persist keeps"
            ))),
            Some((_, _, netns)) if netns != self.knobs.namespace() => Err(Failure::usage(anyhow!(
                "transaction {id} belongs to another network namespace (inode {netns}); enter it \
                 with nsenter or ip netns exec"
            ))),
            _ => Ok(()),
        }
    }
}
