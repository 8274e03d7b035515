//! `nicety lab run` and `nicety lab shell`.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use nicety_guests::{Machine, QemuError};
use nicety_lab::attach::{ANSWER_LIMIT, BOOT_LIMIT, attach};
use nicety_lab::runs::Runs;
use nicety_lab::signals::Signals;
use nicety_lab::wire::{Size, Start};
use nicety_lab::{Ended, Home, SessionError, boot, command, terminal};

use super::args::{MachineArgs, RunArgs, ShellArgs};
use super::setup::{self, announce};
use super::share;
use crate::exit::{Exit, Failure};
use crate::output;

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
    let start = start(args.command.clone(), None, &args.env)?;
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
    let start = start(vec![command::shell()], terminal::size(), &args.env)?;
    enter(&args.machine, args.fresh, (None, None), start)
}

fn start(
    words: Vec<OsString>,
    terminal: Option<Size>,
    named: &[OsString],
) -> Result<Start, Failure> {
    command::start(words, terminal, named)
        .context("cannot tell the working directory")
        .map_err(Failure::environment)
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
            let result = attach(&port, start, &mut signals, ANSWER_LIMIT);
            return end(result, None);
        }
    }
    let mut setup = setup::get(args)?;
    setup.spec.guest_channel = guest_channel;
    // Looked at again when the lab has ended.
    let runs = match out {
        Some(_) => None,
        None => share::runs(),
    };
    setup.spec.shares = out
        .into_iter()
        .chain(runs.as_ref().map(Runs::path))
        .collect();
    if signals.ended() {
        return Ok(Exit::Interrupted);
    }
    announce(&setup);
    let mut lab =
        boot::boot(&setup.bundle, &setup.spec, &setup.accelerator).map_err(Failure::environment)?;
    let result = attach(&lab.port, start, &mut signals, BOOT_LIMIT);
    end(result, Some(&mut lab.machine))
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
