//! Standard output or standard error, as a terminal.

use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};

use nicety_report::live::Look;

use crate::output;

/// Moves to the first column and clears all from there on (ECMA-48, ED).
pub const ERASE: &[u8] = b"\r\x1b[J";

/// Where a view is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Stream {
    fn with<T>(self, of: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
        match self {
            Self::Output => of(io::stdout().as_fd()),
            Self::Error => of(io::stderr().as_fd()),
        }
    }

    /// Whether a view can be drawn there: a terminal that calls itself dumb cannot move its cursor.
    pub fn can_move(self) -> bool {
        let terminal = match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        };
        terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Columns and lines; the terminal may change them at any time.
    pub fn size(self) -> (u16, u16) {
        let (width, height) = self.known_size();
        (width.unwrap_or(80), height.unwrap_or(24))
    }

    /// Columns, where it is a terminal that knows them.
    pub fn width(self) -> Option<u16> {
        self.known_size().0
    }

    fn known_size(self) -> (Option<u16>, Option<u16>) {
        let known = |found: u16| Some(found).filter(|found| *found > 0);
        match self.with(|fd| rustix::termios::tcgetwinsize(fd)) {
            Ok(size) => (known(size.ws_col), known(size.ws_row)),
            Err(_) => (None, None),
        }
    }

    /// Whether the shell has given us the terminal; a job in the background must not draw over what
    /// the user types.
    pub fn is_ours(self) -> bool {
        self.with(|fd| is_ours(fd))
    }

    /// Writes all at once. Nobody may be looking any more; there is nobody left to tell.
    pub fn write(self, bytes: &[u8]) {
        let _ = match self {
            Self::Output => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Self::Error => io::stderr().lock().write_all(bytes),
        };
    }

    /// What can be shown there.
    pub fn look(self) -> Look {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        // locale(7): the first that is set counts.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.unwrap_or_default().to_ascii_lowercase();
        Look {
            colour: match self {
                Self::Output => output::colour(&io::stdout()),
                Self::Error => output::colour(&io::stderr()),
            },
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }
}

/// Whether the job we are in has this terminal.
pub fn is_ours(terminal: impl AsFd) -> bool {
    match rustix::termios::tcgetpgrp(terminal) {
        Ok(group) => group == rustix::process::getpgrp(),
        // A terminal that controls nobody, or a group of another namespace.
        Err(_) => true,
    }
}
