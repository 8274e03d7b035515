//! What a service has to do with whoever started it: signals, and readiness for systemd.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, channel};

use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::Error;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceRequest {
    /// To put everything back and end.
    Stop,
    /// To take the policy as its file is now.
    Reload,
    /// To ask anew which ports names are.
    LookAgain,
}

/// A channel that says when to stop, to reload or to look again. A hang-up asks a service to reload; that of the
/// terminal it was started from ends it.
///
/// # Errors
/// When the signals cannot be caught.
pub fn signals() -> Result<Receiver<ServiceRequest>, Error> {
    let all = [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];
    let mut signals = Signals::new(all)?;
    let on_terminal = std::io::stderr().is_terminal();
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                let request = match signal {
                    SIGUSR1 => ServiceRequest::Reload,
                    SIGUSR2 => ServiceRequest::LookAgain,
                    SIGHUP if !on_terminal => ServiceRequest::Reload,
                    _ => ServiceRequest::Stop,
                };
                if sender.send(request).is_err() {
                    return;
                }
            }
        })?;
    Ok(receiver)
}

/// Tells systemd (sd_notify(3)); nothing where nobody listens.
#[derive(Debug)]
pub(crate) struct Notifier {
    ready: bool,
    watched: bool,
}

impl Notifier {
    /// Nothing is said yet.
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
