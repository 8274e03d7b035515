//! The caller's streams, signals and keys at a command in the lab.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::session::{Ended, Session, SessionError};
use crate::signals::Signals;
use crate::terminal;
use crate::wire::Start;

/// Longest way to the prompt: seconds under KVM, 5 to 15 s under TCG, minutes on a host with ten programs for each CPU.
pub const BOOT_LIMIT: Duration = Duration::from_secs(300);
/// Longest wait for a lab that is up.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Longest time without a sign of life of all the lab's CPUs: they give one every two seconds, on a
/// busy host fewer.
const SILENCE: Duration = Duration::from_secs(60);

/// Carries streams, signals and keys until the command ends.
///
/// # Errors
/// As those of [`Session::run`].
pub fn attach(
    port: &UnixStream,
    start: Start,
    signals: &mut Signals,
    limit: Duration,
) -> Result<Ended, SessionError> {
    let wake = signals.wake().map_err(SessionError::Io)?;
    let raw = match start.terminal {
        Some(_) => Some(terminal::Raw::enter().map_err(SessionError::Io)?),
        None => None,
    };
    let stdin = io::stdin();
    let mut events = || signals.take();
    let result = Session {
        input: Some(stdin.as_fd()),
        output: &mut unbuffered(io::stdout()).map_err(SessionError::Io)?,
        errors: &mut unbuffered(io::stderr()).map_err(SessionError::Io)?,
        wake: wake.as_fd(),
        events: &mut events,
        limit,
        silence: SILENCE,
    }
    .run(port, start);
    drop(raw);
    result
}

/// The stream itself: a command's bytes go out as they come, whole lines or not.
fn unbuffered(stream: impl AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

/// Waits until a lab that is to be left running answers.
///
/// # Errors
/// As those of [`Session::run`].
pub(crate) fn wait_until_up(
    port: &UnixStream,
    signals: &mut Signals,
) -> Result<Ended, SessionError> {
    let wake = signals.wake().map_err(SessionError::Io)?;
    let start = Start {
        words: vec!["/bin/true".into()],
        environment: Vec::new(),
        directory: "/".into(),
        terminal: None,
    };
    let mut events = || signals.take();
    Session {
        input: None,
        output: &mut io::sink(),
        errors: &mut io::sink(),
        wake: wake.as_fd(),
        events: &mut events,
        limit: BOOT_LIMIT,
        silence: SILENCE,
    }
    .run(port, start)
}
