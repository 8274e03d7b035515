//! Booting a lab that is left running.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nicety_guests::{Machine, QemuError};

use crate::attach::{BOOT_LIMIT, wait_until_up};
use crate::boot::{boot_in, port_name};
use crate::runs::Runs;
use crate::session::{Ended, SessionError};
use crate::setup::Setup;
use crate::signals::Signals;
use crate::state::{Home, LabState, Running};

/// What became of a lab that was to be left running.
#[derive(Debug)]
pub enum Up {
    /// It runs.
    Running(Running),
    /// The user gave up.
    Abandoned,
    /// It was up and has ended.
    Ended,
}

/// Boots a lab that is left running, with its sockets at `home`, and waits until it answers. It keeps
/// `runs`; where it does not come up, nothing of it stays.
///
/// # Errors
/// When it does not come up.
pub fn boot_up(
    home: &Home,
    setup: &Setup,
    runs: Option<Runs>,
    signals: &mut Signals,
) -> Result<Up, QemuError> {
    let mut state = LabState {
        schema: 1,
        cpus: setup.spec.cpus,
        memory_mib: setup.spec.memory_mib,
        accelerator: setup.accelerator.to_string(),
        up: false,
        runs: runs.as_ref().map(Runs::dir),
    };
    home.begin(&state)?;
    match booted(home, setup, signals) {
        Ok(Some(machine)) => {
            state.up = true;
            home.write(&state)?;
            machine.leave();
            if let Some(runs) = runs {
                runs.leave();
            }
            Ok(home.running()?.map_or(Up::Ended, Up::Running))
        }
        Ok(None) => home.clear().map(|()| Up::Abandoned),
        Err(error) => {
            // The error says more than what removing the directory could.
            let _ = home.clear();
            Err(error)
        }
    }
}

/// Boots it and waits until it answers; none when the user gave up.
fn booted(home: &Home, setup: &Setup, signals: &mut Signals) -> Result<Option<Machine>, QemuError> {
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
