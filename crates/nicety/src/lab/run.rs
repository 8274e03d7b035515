//! `nicety lab run` and `nicety lab shell`.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use nicety_testbed::lab::wire::Start;
use nicety_testbed::lab::{self, Ended, Home, Session, SessionError};
use nicety_testbed::qemu::{Machine, QemuError};

use super::args::{MachineArgs, RunArgs, ShellArgs};
use super::setup::Setup;
use super::share::{self, Runs};
use super::signals::Signals;
use super::{command, terminal};
use crate::exit::{Exit, Failure};
use crate::output;

/// Longest way to the prompt: seconds under KVM, 5 to 15 s under TCG, more on a busy host.
pub const BOOT_LIMIT: Duration = Duration::from_secs(120);
/// Longest wait for a lab that is up.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Longest time without a sign of life of all the lab's CPUs: they give one every two seconds, on a
/// busy host fewer.
const SILENCE: Duration = Duration::from_secs(60);
/// As a shell reports a command that a signal ended.
const SIGNALLED: u8 = 128;
const SIGPIPE: u8 = 13;

/// `nicety lab run`.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    // QEMU would wait for it without a word.
    if let Some(path) = args.guest_channel.as_deref().filter(|path| !path.exists()) {
        return Err(Failure::usage(anyhow!(
            "--guest-channel {}: there is no such socket; start nicety police run with a policy that names it",
            path.display()
        )));
    }
    let out = args.out.as_deref().map(share::named).transpose()?;
    let start = command::start(args.command.clone(), None)?;
    let fresh = args.fresh || args.out.is_some() || args.guest_channel.is_some();
    enter(
        &args.machine,
        fresh,
        (out, args.guest_channel.clone()),
        start,
    )
}

/// `nicety lab shell`.
pub fn shell(args: &ShellArgs) -> Result<Exit, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage(anyhow!(
            "lab shell needs a terminal; for a command write nicety lab run -- COMMAND"
        )));
    }
    let start = command::start(vec![command::shell()], terminal::size())?;
    enter(&args.machine, args.fresh, (None, None), start)
}

/// Runs a command in the lab that is up, or in a new one.
fn enter(
    args: &MachineArgs,
    fresh: bool,
    (out, guest_channel): (Option<PathBuf>, Option<PathBuf>),
    start: Start,
) -> Result<Exit, Failure> {
    let mut signals = Signals::install()
        .context("cannot take over signals")
        .map_err(Failure::environment)?;
    if !fresh && !args.given() {
        let running = Home::of_user().running().map_err(Failure::environment)?;
        if let Some(running) = running.filter(|running| running.state.up) {
            if let Some(line) = share::kept_elsewhere(running.state.runs.as_ref()) {
                output::say(&format!("nicety: {line}"));
            }
            let (port, _held) = running.connect().map_err(Failure::environment)?;
            let result = follow(&port, start, &mut signals, ANSWER_LIMIT);
            return end(result, None);
        }
    }
    let mut setup = Setup::new(args)?;
    setup.spec.guest_channel = guest_channel;
    // Looked at again when the lab has ended.
    let runs = match out {
        Some(_) => None,
        None => Runs::here(),
    };
    setup.spec.shares = out
        .into_iter()
        .chain(runs.as_ref().map(Runs::path))
        .collect();
    if signals.ended() {
        return Ok(Exit::Interrupted);
    }
    setup.announce();
    // On this thread, which lives as long as the program: QEMU ends with it.
    let mut lab =
        lab::boot(&setup.bundle, &setup.spec, &setup.accelerator).map_err(Failure::environment)?;
    let result = follow(&lab.port, start, &mut signals, BOOT_LIMIT);
    end(result, Some(&mut lab.machine))
}

/// Carries streams, signals and keys until the command ends.
fn follow(
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

/// What the end of a command means for us.
fn end(
    result: Result<Ended, SessionError>,
    machine: Option<&mut Machine>,
) -> Result<Exit, Failure> {
    let gone = || {
        QemuError::io(
            "use",
            "the lab",
            io::Error::from(io::ErrorKind::ConnectionReset),
        )
    };
    match result {
        Ok(Ended::Exited(code)) => Ok(Exit::Code(code)),
        Ok(Ended::Signalled(number)) => Ok(Exit::Code(SIGNALLED.saturating_add(number))),
        Ok(Ended::Abandoned) => {
            output::say("nicety: interrupted; the lab and everything in it have ended");
            Ok(Exit::Interrupted)
        }
        Err(SessionError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Code(SIGNALLED + SIGPIPE))
        }
        Err(SessionError::Refused(why)) => Err(Failure::usage(anyhow!(why))),
        Err(error) => Err(Failure::environment(match (machine, error) {
            (Some(machine), SessionError::Late(limit)) => machine.late("its prompt", limit).into(),
            (Some(machine), SessionError::Gone) => {
                machine.why_ended("the command's end", gone()).into()
            }
            (None, SessionError::Gone) => {
                anyhow!("the lab ended before the command did; see nicety lab up")
            }
            (Some(_), still @ SessionError::Still(_)) => {
                anyhow!("{still}; it has ended with the command, run it again")
            }
            (None, still @ SessionError::Still(_)) => {
                anyhow!("{still}; end it with nicety lab down")
            }
            (_, error) => anyhow::Error::new(error),
        })),
    }
}

/// Waits until a lab that is to be left running answers.
pub fn wait_until_up(port: &UnixStream, signals: &mut Signals) -> Result<Ended, SessionError> {
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
