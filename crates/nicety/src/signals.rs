//! Ctrl-C and SIGTERM: the first asks gently, the second ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use nicety_port::Stop;
use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::unregister;

use crate::exit::Failure;

/// Status of a program that was interrupted, as that of `Exit::Interrupted`.
pub const INTERRUPTED: i32 = 4;

/// Sees the signals from now on.
#[derive(Debug, Clone)]
pub struct Signals {
    seen: Arc<AtomicBool>,
    /// What the second signal does.
    at_once: Arc<Mutex<Vec<SigId>>>,
}

impl Signals {
    /// Takes over SIGINT and SIGTERM. What the program holds (namespaces, sockets, locks) the
    /// kernel gives up with the process, so the second signal may end it anywhere.
    pub fn install() -> Result<Self, Failure> {
        let signals = Self {
            seen: Arc::new(AtomicBool::new(false)),
            at_once: Arc::default(),
        };
        signals
            .register()
            .context("cannot take over SIGINT and SIGTERM")
            .map_err(Failure::environment)?;
        Ok(signals)
    }

    fn register(&self) -> std::io::Result<()> {
        let mut at_once = self.at_once.lock().unwrap_or_else(PoisonError::into_inner);
        for signal in [SIGINT, SIGTERM] {
            // Order matters: the shutdown looks at the flag as the earlier signal left it.
            let seen = Arc::clone(&self.seen);
            at_once.push(signal_hook::flag::register_conditional_shutdown(
                signal,
                INTERRUPTED,
                seen,
            )?);
            signal_hook::flag::register(signal, Arc::clone(&self.seen))?;
        }
        Ok(())
    }

    /// Leaves the second signal to a view, which has a terminal to put back before the end.
    pub fn leave_second(&self) {
        let mut at_once = self.at_once.lock().unwrap_or_else(PoisonError::into_inner);
        for action in at_once.drain(..) {
            unregister(action);
        }
    }

    /// The view is gone: a signal ends at once where one was seen before.
    pub fn take_second(&self) {
        // The flag is set by the older action first, so that what is left to do (writing the report)
        // ends with the first signal as well.
        let _ = self.register();
    }

    /// Whether the user asked to stop.
    pub fn stopped(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// The engine's stop, sharing the flag.
    pub fn stop(&self) -> Stop {
        Stop::shared(Arc::clone(&self.seen))
    }
}
