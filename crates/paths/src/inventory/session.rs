//! What the share of a session was before it was raised, so that the next start can give back what a killed nicety
//! has left.

use std::io;
use std::path::Path;

use nicety_host::cpu_share;
use nicety_host::journal::boot_id;
use nicety_host::roots::ProcRoot;
use serde::{Deserialize, Serialize};

use super::{read, save};

/// File in the private directory.
const FILE: &str = "session.json";
/// The highest share.
pub(crate) const RAISED: i32 = -20;

/// A session as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionInventory {
    /// The boot, in which numbers of groups are unique.
    boot: String,
    /// Its autogroup.
    group: u64,
    /// Nice value of that.
    nice: i32,
}

impl SessionInventory {
    /// That of this process; `None` where the kernel does not share CPUs among sessions, or nothing is to be raised.
    pub(crate) fn now(proc: &ProcRoot) -> Option<Self> {
        let group =
            cpu_share::session_of(proc, "self").filter(|_| cpu_share::among_sessions(proc))?;
        (group.nice > RAISED).then(|| Self {
            boot: boot_id(proc),
            group: group.number,
            nice: group.nice,
        })
    }

    /// Writes it down.
    pub(crate) fn save(&self, dir: &Path) -> io::Result<()> {
        save(dir, FILE, self)
    }

    /// Gives the session its former share. One that has ended, or whose share somebody else has changed, is left alone.
    pub(crate) fn undo(&self, proc: &ProcRoot) -> io::Result<()> {
        if boot_id(proc) != self.boot {
            return Ok(());
        }
        let Some(process) = cpu_share::process_in(proc, self.group) else {
            return Ok(());
        };
        match cpu_share::session_of(proc, &process) {
            Some(group) if group.nice == RAISED => {
                cpu_share::set_session(proc, &process, self.nice)
            }
            _ => Ok(()),
        }
    }
}

/// Gives back what the directory of a killed nicety names. True when nothing is left to do.
pub(super) fn undo_left(dir: &Path) -> bool {
    let left = read::<SessionInventory>(dir, FILE);
    left.is_none_or(|left| left.undo(&ProcRoot::live()).is_ok())
}
