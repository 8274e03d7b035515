//! The process that undoes a transaction nobody confirms. It holds no lock while it waits.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nicety_advisor::transaction::{Need, need};
use nicety_host::journal::{JournalError, StateDir, since_boot};
use nicety_host::knob::Knobs;
use nicety_model::journal::Journal;

use crate::{Transaction, TuneError};

/// What it says when it can no longer be ended by a closing terminal.
const READY: &str = "ready";
/// How often it looks at the journal.
const EVERY: Duration = Duration::from_millis(200);

/// Starts the process that undoes the transaction: this program as `tune guard`, which calls [`run`].
/// It outlives this one and the terminal. Returns when it is ready: before that nothing may be changed.
pub(crate) fn start(state: &Path, id: u32) -> Result<(), TuneError> {
    let program = std::env::current_exe().map_err(TuneError::Program)?;
    let mut child = Command::new(program)
        .args(["tune", "guard", "--state"])
        .arg(state)
        .arg(id.to_string())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed("cannot start the guard"))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout)
            .read_line(&mut line)
            .map_err(failed("cannot hear the guard"))?;
    }
    match line.trim() {
        READY => Ok(()),
        _ => Err(TuneError::NoGuard),
    }
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> TuneError {
    move |source| TuneError::Guard { what, source }
}

/// Guards a transaction to its end. `out` is read by whoever waits for the guard to be ready.
///
/// # Errors
/// When nobody waits, or the state cannot be used.
pub fn run(state: &Path, id: u32, out: &mut impl Write) -> Result<(), TuneError> {
    // Out of the terminal's session: its hang-up and Ctrl-C go to others.
    rustix::process::setsid()
        .map_err(std::io::Error::from)
        .map_err(failed("cannot leave the session"))?;
    let state = StateDir::open(state)?;
    let knobs = Knobs::open()?;
    writeln!(out, "{READY}")
        .and_then(|()| out.flush())
        .map_err(failed("the program that started the guard is gone"))?;
    Ok(watch(&state, &knobs, id)?)
}

fn watch(state: &StateDir, knobs: &Knobs, id: u32) -> Result<(), JournalError> {
    let now = |journal: &Journal| need(journal.phase(), since_boot().as_secs_f64());
    // Whoever applies holds the lock until the last setting is written, or until it dies.
    drop(state.wait_lock()?);
    loop {
        match now(&state.read(id)?) {
            Need::Nothing => return Ok(()),
            Need::Wait(left_s) => sleep(EVERY.min(Duration::from_secs_f64(left_s))),
            Need::Undo(_) => break,
        }
    }
    let _lock = state.wait_lock()?;
    // Somebody may have confirmed or undone it meanwhile.
    let journal = state.read(id)?;
    if let Need::Undo(cause) = now(&journal) {
        Transaction::resume(state, knobs, id, journal)?.undo(cause.words(), false)?;
    }
    Ok(())
}
