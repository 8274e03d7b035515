//! `nicety lab up` and `nicety lab down`.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use nicety_testbed::lab::boot::{boot_in, port_name};
use nicety_testbed::lab::{Ended, Home, LabState, Running, SessionError};
use nicety_testbed::qemu::{Machine, QemuError};
use serde::Serialize;

use super::args::{DownArgs, UpArgs};
use super::run::{BOOT_LIMIT, wait_until_up};
use super::setup::Setup;
use super::signals::Signals;
use crate::exit::{Exit, Failure};
use crate::output;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    lab: &'a LabState,
    directory: String,
    qemu_pid: u32,
}

/// `nicety lab up`.
pub fn up(args: &UpArgs) -> Result<Exit, Failure> {
    let home = Home::of_user();
    let _turn = home.lock().map_err(Failure::environment)?;
    if let Some(running) = home.running().map_err(Failure::environment)? {
        if running.state.up {
            output::say("nicety: the lab is up already");
            return report(&home, &running, args.json);
        }
        output::say("nicety: ending a lab whose start was interrupted");
        running.end().map_err(Failure::environment)?;
    }
    let mut signals = Signals::install()
        .context("cannot take over signals")
        .map_err(Failure::environment)?;
    let setup = Setup::new(&args.machine, Vec::new())?;
    if signals.ended() {
        return Ok(Exit::Interrupted);
    }
    setup.announce();
    let mut state = LabState {
        schema: 1,
        cpus: setup.spec.cpus,
        memory_mib: setup.spec.memory_mib,
        accelerator: setup.accelerator.to_string(),
        up: false,
    };
    home.begin(&state).map_err(Failure::environment)?;
    let result = start(&home, &setup, &mut signals);
    match result {
        Ok(Some(machine)) => {
            state.up = true;
            home.write(&state).map_err(Failure::environment)?;
            machine.leave();
            match home.running().map_err(Failure::environment)? {
                Some(running) => report(&home, &running, args.json),
                None => Err(Failure::environment(anyhow!(
                    "the lab ended as soon as it was up; try again"
                ))),
            }
        }
        Ok(None) => {
            home.clear().map_err(Failure::environment)?;
            Ok(Exit::Interrupted)
        }
        Err(error) => {
            // The error says more than what removing the directory could.
            let _ = home.clear();
            Err(Failure::environment(error))
        }
    }
}

/// Boots it; none when the user gave up.
fn start(home: &Home, setup: &Setup, signals: &mut Signals) -> Result<Option<Machine>, QemuError> {
    let mut machine = boot_in(&setup.bundle, &setup.spec, &setup.accelerator, home.dir())?;
    let port = connect(home, &mut machine)?;
    let gone = || {
        QemuError::io(
            "use",
            "the lab",
            io::Error::from(io::ErrorKind::ConnectionReset),
        )
    };
    match wait_until_up(&port, signals) {
        Ok(Ended::Exited(0)) => Ok(Some(machine)),
        Ok(Ended::Abandoned) => Ok(None),
        Ok(ended) => Err(QemuError::Answer {
            what: "the first command in the lab".into(),
            text: format!("{ended:?}"),
        }),
        Err(SessionError::Late(limit)) => Err(machine.late("its prompt", limit)),
        Err(SessionError::Gone) => Err(machine.why_ended("its prompt", gone())),
        Err(error) => Err(QemuError::io("use", "the lab", io::Error::other(error))),
    }
}

/// The first port, as soon as QEMU has made it.
fn connect(home: &Home, machine: &mut Machine) -> Result<UnixStream, QemuError> {
    let socket = home.dir().join(port_name(0));
    let end = Instant::now() + BOOT_LIMIT;
    loop {
        let error = match UnixStream::connect(&socket) {
            Ok(port) => return Ok(port),
            Err(error) => QemuError::io("connect to", &socket, error),
        };
        if machine.ended()?.is_some() || Instant::now() > end {
            return Err(machine.why_ended("its start", error));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn report(home: &Home, running: &Running, as_json: bool) -> Result<Exit, Failure> {
    let state = &running.state;
    let text = if as_json {
        let report = Report {
            schema: 1,
            lab: state,
            directory: home.dir().display().to_string(),
            qemu_pid: running.id(),
        };
        serde_json::to_string_pretty(&report).map_err(Failure::environment)?
    } else {
        format!(
            "The lab is up: {} CPUs, {} MiB, {}.\n\
             enter it     nicety lab shell\n\
             run in it    nicety lab run -- COMMAND\n\
             its console  {}\n\
             end it       nicety lab down",
            state.cpus,
            state.memory_mib,
            state.accelerator,
            running.console().display()
        )
    };
    match writeln!(io::stdout().lock(), "{text}") {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(e)),
        _ => Ok(Exit::Done),
    }
}

/// `nicety lab down`.
pub fn down(_: &DownArgs) -> Result<Exit, Failure> {
    let home = Home::of_user();
    let _turn = home.lock().map_err(Failure::environment)?;
    match home.running().map_err(Failure::environment)? {
        Some(running) => {
            running.end().map_err(Failure::environment)?;
            output::say("nicety: the lab has ended");
        }
        None => output::say("nicety: no lab is up"),
    }
    Ok(Exit::Done)
}
