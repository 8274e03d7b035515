//! What a service has to do with whoever started it: signals, and readiness for systemd.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, channel};

use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::exit::Failure;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To put everything back and end.
    Stop,
    /// To take the policy as its file is now.
    Reload,
}

/// A channel that says when to stop or to reload. A hang-up asks a service to reload; that of the
/// terminal it was started from ends it.
pub fn signals() -> Result<Receiver<Asked>, Failure> {
    let all = [SIGINT, SIGTERM, SIGHUP, SIGUSR1];
    let mut signals = Signals::new(all).map_err(Failure::environment)?;
    let on_terminal = std::io::stderr().is_terminal();
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                let asked = match signal {
                    SIGUSR1 => Asked::Reload,
                    SIGHUP if !on_terminal => Asked::Reload,
                    _ => Asked::Stop,
                };
                if sender.send(asked).is_err() {
                    return;
                }
            }
        })
        .map_err(Failure::environment)?;
    Ok(receiver)
}

/// Tells systemd (sd_notify(3)); nothing where nobody listens.
#[derive(Debug)]
pub struct Told {
    ready: bool,
    watched: bool,
}

impl Told {
    pub fn new() -> Self {
        let mut microseconds = 0;
        Self {
            ready: false,
            watched: sd_notify::watchdog_enabled(false, &mut microseconds),
        }
    }

    /// A period has ended; the first one means ready.
    pub fn period(&mut self, status: &str) {
        let mut states = vec![NotifyState::Status(status)];
        if !std::mem::replace(&mut self.ready, true) {
            states.push(NotifyState::Ready);
        }
        if self.watched {
            states.push(NotifyState::Watchdog);
        }
        let _ = sd_notify::notify(false, &states);
    }

    /// The daemon ends and puts things back.
    pub fn stopping(&self) {
        let _ = sd_notify::notify(false, &[NotifyState::Stopping]);
    }
}
