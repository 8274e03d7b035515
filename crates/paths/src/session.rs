//! The session of the tester before other sessions, while it measures.
//!
//! The kernel shares CPUs among sessions first (`nicety_host::cpu_share`): beside a compiler in another one a thread of
//! the tester at nice -20 has half a CPU. Processes started later, such as guests, belong to the session too.

use nicety_host::cpu_share;
use nicety_host::roots::ProcRoot;

use crate::inventory::session::{RAISED, SessionInventory};
use crate::run_dir::RunDir;

/// This process's session has the highest share; dropped, it gets back its own.
#[derive(Debug)]
pub struct RaisedSession {
    inventory: SessionInventory,
    // Dropped last: it names what is still to be given back.
    dir: RunDir,
}

impl RaisedSession {
    /// Raises the session. `None` where that is not possible, or changes nothing.
    pub fn now() -> Option<Self> {
        let proc = ProcRoot::live();
        let inventory = SessionInventory::now(&proc)?;
        let dir = RunDir::create_for_host().ok()?;
        inventory.save(dir.path()).ok()?;
        cpu_share::set_session(&proc, "self", RAISED).ok()?;
        Some(Self { inventory, dir })
    }
}

impl Drop for RaisedSession {
    fn drop(&mut self) {
        if self.inventory.undo(&ProcRoot::live()).is_err() {
            self.dir.keep();
        }
    }
}
