//! How long a broken path is waited for, and how often it is tried again.

use std::time::{Duration, Instant};

use nicety_port::Stop;

/// First pause; each further one is twice as long.
const FIRST: Duration = Duration::from_secs(1);
/// Longest pause.
const LONGEST: Duration = Duration::from_secs(30);
/// A path that does not come back within this time ends the soak.
const PATIENCE: Duration = Duration::from_secs(600);
/// A path that held for so long is tried again soon.
const WHOLE: Duration = Duration::from_secs(60);
/// How soon a stop is seen.
const BLINK: Duration = Duration::from_millis(50);

/// A path that breaks.
#[derive(Debug, Default)]
pub(super) struct Broken {
    pause: Duration,
    since: Option<Instant>,
    /// When it was whole last.
    tried: Option<Instant>,
}

impl Broken {
    /// The path carried frames before it broke again.
    pub(super) fn was_whole(&mut self) {
        self.since = None;
        if self.tried.is_none_or(|tried| tried.elapsed() >= WHOLE) {
            self.pause = Duration::ZERO;
        }
    }

    /// Waits before the next attempt; in vain when that took too long already, in minutes.
    pub(super) fn wait(&mut self, stop: &Stop) -> Result<(), u64> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE {
            return Err(PATIENCE.as_secs() / 60);
        }
        self.pause = (self.pause * 2).clamp(FIRST, LONGEST);
        let until = Instant::now() + self.pause;
        while Instant::now() < until && !stop.is_set() {
            std::thread::sleep(BLINK);
        }
        self.tried = Some(Instant::now());
        Ok(())
    }
}
