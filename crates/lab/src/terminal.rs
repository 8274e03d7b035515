//! The user's terminal as the lab's shell needs it.

use std::io;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::wire::Size;

/// The size of the terminal on standard input.
pub fn size() -> Option<Size> {
    let size = tcgetwinsize(io::stdin()).ok()?;
    Some(Size {
        rows: size.ws_row,
        columns: size.ws_col,
    })
}

/// A terminal that passes every key on; as it was again when dropped.
#[derive(Debug)]
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Changes the terminal on standard input.
    ///
    /// # Errors
    /// When it is none.
    pub fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
