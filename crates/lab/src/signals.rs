//! Signals while a command runs in the lab: passed on first, then they end the lab.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::{flag, low_level::pipe};

use crate::session::SessionEvent;
use crate::terminal;

/// How long a command has to end after the first signal.
const GRACE: Duration = Duration::from_secs(10);
const PASSED_ON: [i32; 4] = [SIGINT, SIGTERM, SIGQUIT, SIGHUP];

/// Sees the signals from now on.
#[derive(Debug)]
pub struct Signals {
    seen: Vec<(i32, Arc<AtomicBool>)>,
    resized: Arc<AtomicBool>,
    out_of_time: Arc<AtomicBool>,
    passed_on: bool,
    wake: UnixStream,
    alarm: UnixStream,
}

impl Signals {
    /// Takes them over.
    ///
    /// # Errors
    /// When the kernel refuses a handler or a socket.
    pub fn install() -> std::io::Result<Self> {
        let (wake, alarm) = UnixStream::pair()?;
        let mut seen = Vec::new();
        // The flag before the byte: who is woken finds it set.
        for signal in PASSED_ON {
            let came = Arc::new(AtomicBool::new(false));
            flag::register(signal, Arc::clone(&came))?;
            pipe::register(signal, alarm.try_clone()?)?;
            seen.push((signal, came));
        }
        let resized = Arc::new(AtomicBool::new(false));
        flag::register(SIGWINCH, Arc::clone(&resized))?;
        pipe::register(SIGWINCH, alarm.try_clone()?)?;
        Ok(Self {
            seen,
            resized,
            out_of_time: Arc::default(),
            passed_on: false,
            wake,
            alarm,
        })
    }

    /// Readable after a signal.
    ///
    /// # Errors
    /// When there are too many open files.
    pub fn wake(&self) -> std::io::Result<UnixStream> {
        self.wake.try_clone()
    }

    /// Whether one came already that asks to end.
    pub fn ended(&self) -> bool {
        self.seen
            .iter()
            .any(|(_, came)| came.load(Ordering::Relaxed))
    }

    /// What came since the last call.
    pub fn take(&mut self) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        if self.resized.swap(false, Ordering::Relaxed)
            && let Some(size) = terminal::size()
        {
            events.push(SessionEvent::Resize(size));
        }
        if self.out_of_time.load(Ordering::Relaxed) {
            events.push(SessionEvent::GiveUp);
        }
        for (signal, came) in &self.seen {
            if !came.swap(false, Ordering::Relaxed) {
                continue;
            }
            if self.passed_on {
                events.push(SessionEvent::GiveUp);
            } else {
                self.passed_on = true;
                events.push(SessionEvent::Signal(
                    u8::try_from(*signal).unwrap_or_default(),
                ));
                give_up_later(&self.out_of_time, &self.alarm);
            }
        }
        events
    }
}

fn give_up_later(out_of_time: &Arc<AtomicBool>, alarm: &UnixStream) {
    let out_of_time = Arc::clone(out_of_time);
    // Without the byte the next signal still ends it.
    let Ok(mut alarm) = alarm.try_clone() else {
        return;
    };
    std::thread::spawn(move || {
        std::thread::sleep(GRACE);
        out_of_time.store(true, Ordering::Relaxed);
        let _ = alarm.write_all(b"t");
    });
}
