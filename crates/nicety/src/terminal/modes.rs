//! What has been changed about the terminal, and putting it back.
//!
//! It is kept for the whole program, so that a panic anywhere and a second Ctrl-C put it back as well.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};

use crossterm::cursor::{Hide, Show};
use crossterm::queue;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::Stream;
use super::stream::{ERASE, is_ours};

/// What was found, and what is there now.
#[derive(Default)]
struct Changed {
    /// Modes of standard input before keys were read.
    modes: Option<Termios>,
    /// The alternate screen is shown, with no cursor.
    full: Option<Stream>,
    /// A few lines are drawn, and the cursor is at the first of them.
    lines: Option<Stream>,
}

static CHANGED: Mutex<Changed> = Mutex::new(Changed {
    modes: None,
    full: None,
    lines: None,
});

fn changed() -> MutexGuard<'static, Changed> {
    CHANGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets keys come one by one; false where no terminal is typed into.
pub fn keys() -> bool {
    on_panic();
    let input = io::stdin();
    let mut changed = changed();
    if changed.modes.is_some() {
        return true;
    }
    if !input.is_terminal() || !is_ours(&input) {
        return false;
    }
    let Ok(found) = tcgetattr(&input) else {
        return false;
    };
    let mut modes = found.clone();
    // ISIG and OPOST stay: Ctrl-C and Ctrl-Z are signals, and a newline returns to the first column.
    modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    // A read returns with what is there: half a key's bytes keep nobody waiting for the rest.
    modes.special_codes[SpecialCodeIndex::VMIN] = 0;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    if tcsetattr(&input, OptionalActions::Now, &modes).is_err() {
        return false;
    }
    changed.modes = Some(found);
    true
}

/// Shows the alternate screen.
pub fn full(stream: Stream) {
    on_panic();
    let mut changed = changed();
    if changed.full.replace(stream).is_none() {
        let mut bytes = Vec::new();
        // Writing into memory does not fail.
        let _ = queue!(bytes, EnterAlternateScreen, Hide);
        stream.write(&bytes);
    }
}

/// Shows the screen that was there before the alternate one.
pub fn normal() {
    if let Some(stream) = changed().full.take() {
        leave(stream);
    }
}

/// A few lines are drawn or removed.
pub fn lines(on: Option<Stream>) {
    on_panic();
    changed().lines = on;
}

/// Puts everything back. May be called at any time and any number of times.
pub fn restore() {
    put_back(&mut changed());
}

fn put_back(changed: &mut Changed) {
    if let Some(stream) = changed.full.take() {
        leave(stream);
    }
    if let Some(stream) = changed.lines.take() {
        stream.write(ERASE);
    }
    if let Some(modes) = changed.modes.take() {
        // A terminal that went away needs no modes.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }
}

fn leave(stream: Stream) {
    let mut bytes = Vec::new();
    let _ = queue!(bytes, LeaveAlternateScreen, Show);
    stream.write(&bytes);
}

/// A panic is told on a terminal that can be read.
fn on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            match CHANGED.try_lock() {
                Ok(mut changed) => put_back(&mut changed),
                Err(TryLockError::Poisoned(error)) => put_back(&mut error.into_inner()),
                // It is being changed by the thread that panics; waiting would never end.
                Err(TryLockError::WouldBlock) => {}
            }
            before(info);
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[ignore = "started by the test below, on a terminal of its own"]
    fn panics_on_the_full_screen() {
        assert!(keys());
        full(Stream::Error);
        panic!("on purpose");
    }

    #[test]
    fn a_panic_is_told_on_a_terminal_that_can_be_read() {
        let exe = std::env::current_exe().unwrap();
        let inner = "terminal::modes::tests::panics_on_the_full_screen";
        let command = format!(
            "stty -g; {} --ignored --nocapture --exact {inner}; stty -g",
            exe.display()
        );
        // `script` of util-linux makes a terminal.
        let done = Command::new("script")
            .args(["-qfc", &command, "/dev/null"])
            .env("SHELL", "/bin/sh")
            .stdin(std::process::Stdio::null())
            .output();
        let Ok(done) = done else {
            println!(
                "SKIP a_panic_is_told_on_a_terminal_that_can_be_read: no script here; on Debian: \
                 apt-get install bsdutils"
            );
            return;
        };
        let text = String::from_utf8_lossy(&done.stdout);
        let at = |what: &str| {
            text.find(what)
                .unwrap_or_else(|| panic!("no {what:?}: {text}"))
        };
        assert!(at("\x1b[?1049h") < at("\x1b[?1049l"), "{text}");
        assert!(at("\x1b[?1049l") < at("on purpose"), "{text}");
        assert!(at("\x1b[?25l") < at("\x1b[?25h"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.first(), lines.last(), "{text}");
    }
}
