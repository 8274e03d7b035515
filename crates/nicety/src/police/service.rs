//! What a service has to do with whoever started it: signals, and readiness for systemd.

use std::sync::mpsc::{Receiver, channel};

use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::Failure;

/// A channel that says when to stop.
pub fn stop_signals() -> Result<Receiver<()>, Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::environment)?;
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for _ in signals.forever() {
                if sender.send(()).is_err() {
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
