//! The process that undoes a transaction nobody confirms. It holds no lock while it waits.

use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

use anyhow::anyhow;
use nicety_host::journal::{JournalError, StateDir, since_boot};
use nicety_host::knob::Knobs;
use nicety_model::journal::Phase;

use super::transaction;
use crate::cli::tune::GuardArgs;
use crate::exit::{Exit, Failure};

/// What it says when it can no longer be ended by a closing terminal.
pub const READY: &str = "ready";
/// How often it looks at the journal.
const EVERY: Duration = Duration::from_millis(200);

/// Runs the guard to its end.
pub fn run(args: &GuardArgs) -> Result<Exit, Failure> {
    // Out of the terminal's session: its hang-up and Ctrl-C go to others.
    rustix::process::setsid()
        .map_err(|error| Failure::environment(anyhow!("cannot leave the session: {error}")))?;
    let state = StateDir::open(&args.state).map_err(Failure::environment)?;
    let knobs = Knobs::open().map_err(Failure::environment)?;
    let mut out = std::io::stdout();
    writeln!(out, "{READY}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::environment(anyhow!("nobody waits for the guard: {error}")))?;
    watch(&state, &knobs, args.id).map_err(Failure::environment)
}

fn watch(state: &StateDir, knobs: &Knobs, id: u32) -> Result<Exit, JournalError> {
    // Whoever applies holds the lock until the last setting is written, or until it dies.
    drop(state.wait_lock()?);
    loop {
        match state.read(id)?.phase() {
            Phase::Confirmed | Phase::RolledBack => return Ok(Exit::Done),
            Phase::Unconfirmed { deadline_s } => {
                let left = deadline_s - since_boot().as_secs_f64();
                if left > 0.0 {
                    sleep(EVERY.min(Duration::from_secs_f64(left)));
                    continue;
                }
            }
            Phase::Applying | Phase::Undoing => {}
        }
        let lock = state.wait_lock()?;
        // Somebody may have confirmed or undone it meanwhile.
        let journal = state.read(id)?;
        let why = match journal.phase() {
            Phase::Confirmed | Phase::RolledBack => return Ok(Exit::Done),
            Phase::Unconfirmed { .. } => "not confirmed in time",
            Phase::Applying => "the program ended while it applied",
            Phase::Undoing => "the program ended while it undid",
        };
        let mut file = state.append_to(id)?;
        transaction::undo(knobs, &journal, &mut file, why, false)?;
        drop(lock);
        return Ok(Exit::Done);
    }
}
