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
use nicety_lab::{Ended, Home, Running, SessionError, boot, command, terminal};

use super::args::{MachineArgs, RunArgs, ShellArgs};
use super::setup::{self, announce};
use super::{keep, share};
use crate::exit::{Exit, Failure};
use crate::output;

/// As a shell reports a command that a signal ended.
const SIGNALLED: u8 = 128;
const SIGPIPE: u8 = 13;

/// `nicety lab run`.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    // QEMU would wait for it without a word.
    if let Some(path) = args.channel.as_deref().filter(|path| !path.exists()) {
        return Err(Failure::usage(anyhow!(
            "--channel {}: there is no such socket; start nicety police run with a policy that names it",
            path.display()
        )));
    }
    let out = args.out.as_deref().map(share::named).transpose()?;
    let start = start(args.command.clone(), None)?;
    let fresh = args.fresh || args.out.is_some() || args.channel.is_some();
    let which = match (args.keep, fresh) {
        (true, _) => Which::Kept,
        (_, true) => Which::Fresh,
        _ => Which::Any,
    };
    enter(&args.machine, which, (out, args.channel.clone()), start)
}

/// `nicety lab shell`.
pub fn shell(args: &ShellArgs) -> Result<Exit, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage(anyhow!(
            "lab shell needs a terminal; for a command write nicety lab run -- COMMAND"
        )));
    }
    let start = start(vec![command::shell()], terminal::size())?;
    let which = if args.fresh { Which::Fresh } else { Which::Any };
    enter(&args.machine, which, (None, None), start)
}

fn start(words: Vec<OsString>, terminal: Option<Size>) -> Result<Start, Failure> {
    command::start(words, terminal)
        .context("cannot tell the working directory")
        .map_err(Failure::environment)
}

/// In which lab a command runs.
enum Which {
    /// The one that is up, if it is not another machine than asked for, else a new one.
    Any,
    /// A new one.
    Fresh,
    /// One that is up, and stays.
    Kept,
}

/// Runs a command in the lab that is up, or in a new one.
fn enter(
    args: &MachineArgs,
    which: Which,
    (out, guest_channel): (Option<PathBuf>, Option<PathBuf>),
    start: Start,
) -> Result<Exit, Failure> {
    let mut signals = Signals::install()
        .context("cannot take over signals")
        .map_err(Failure::environment)?;
    let running = match which {
        Which::Kept => match keep::up(args, &mut signals)? {
            None => return Ok(Exit::Interrupted),
            up => up,
        },
        Which::Any if !args.given() => Home::of_user().running().map_err(Failure::environment)?,
        Which::Any | Which::Fresh => None,
    };
    if let Some(running) = running.filter(|running| running.state.up) {
        return enter_running(&running, start, &mut signals);
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

fn enter_running(running: &Running, start: Start, signals: &mut Signals) -> Result<Exit, Failure> {
    if let Some(line) = share::kept_elsewhere(running.state.runs.as_ref()) {
        output::say(&format!("nicety: {line}"));
    }
    let (port, _held) = running.connect().map_err(Failure::environment)?;
    match attach(&port, start, signals, ANSWER_LIMIT) {
        Err(SessionError::Gone) => Err(Failure::environment(anyhow!(
            "the lab ended before the command did; boot it again with nicety lab run --keep; its last lines: {}",
            running.said_last()
        ))),
        result => end(result, None),
    }
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
