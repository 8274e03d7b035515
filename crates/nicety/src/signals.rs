//! Ctrl-C and SIGTERM: the first asks gently, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use nicety_port::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::exit::Failure;

/// Sees the signals from now on.
#[derive(Debug, Clone)]
pub struct Signals {
    seen: Arc<AtomicBool>,
}

impl Signals {
    /// Takes over SIGINT and SIGTERM. What the program holds (namespaces, sockets, locks) the
    /// kernel gives up with the process, so the second signal may end it anywhere.
    pub fn install() -> Result<Self, Failure> {
        let seen = Arc::new(AtomicBool::new(false));
        let register = |signal| {
            // Order matters: the shutdown looks at the flag as the earlier signal left it.
            signal_hook::flag::register_conditional_shutdown(signal, 4, Arc::clone(&seen))?;
            signal_hook::flag::register(signal, Arc::clone(&seen))
        };
        for signal in [SIGINT, SIGTERM] {
            register(signal)
                .context("cannot take over SIGINT and SIGTERM")
                .map_err(Failure::environment)?;
        }
        Ok(Self { seen })
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
