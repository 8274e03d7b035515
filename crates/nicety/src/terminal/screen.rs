//! Views on the terminal, and lines that stay above them.

use nicety_model::visible::escaped;
use nicety_report::live::Look;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::stream::ERASE;
use super::{Stream, modes, paint};

/// How a view is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nothing,
    Lines,
    Full,
}

/// A terminal with at most one view; gets back what was found when dropped.
#[derive(Debug)]
pub struct Screen {
    stream: Stream,
    look: Look,
    shown: Shown,
    last: Option<Buffer>,
    /// Lines that have to wait until the full screen is left.
    waiting: String,
}

impl Screen {
    /// The terminal at `stream`, with nothing on it.
    pub fn new(stream: Stream) -> Self {
        let look = stream.look();
        // Whether colours are wanted is decided by the look alone.
        crossterm::style::force_color_output(look.colour);
        Self {
            stream,
            look,
            shown: Shown::Nothing,
            last: None,
            waiting: String::new(),
        }
    }

    /// What it can show.
    pub fn look(&self) -> Look {
        self.look
    }

    /// Columns and lines.
    pub fn size(&self) -> (u16, u16) {
        self.stream.size()
    }

    /// Shows `height` lines below what was written, drawn by `draw`.
    pub fn lines(&mut self, height: u16, draw: impl FnOnce(&mut Buffer)) {
        if !self.stream.is_ours() {
            return self.hide();
        }
        if self.shown == Shown::Full {
            self.hide();
        }
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size().0, height.max(1)));
        draw(&mut buffer);
        modes::lines(Some(self.stream));
        self.shown = Shown::Lines;
        self.paint_lines(&buffer);
        self.last = Some(buffer);
    }

    fn paint_lines(&self, buffer: &Buffer) {
        // Writing into memory does not fail.
        if let Ok(bytes) = paint::lines(buffer) {
            self.stream.write(&bytes);
        }
    }

    /// Shows the full screen, drawn by `draw`.
    pub fn full(&mut self, draw: impl FnOnce(&mut Buffer)) {
        if !self.stream.is_ours() {
            return self.hide();
        }
        if self.shown != Shown::Full {
            self.hide();
            modes::full(self.stream);
            self.shown = Shown::Full;
        }
        let (width, height) = self.size();
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        draw(&mut buffer);
        if let Ok(bytes) = paint::screen(self.last.as_ref(), &buffer) {
            self.stream.write(&bytes);
        }
        self.last = Some(buffer);
    }

    /// A line above the view, to stay.
    pub fn say(&mut self, line: &str) {
        let line = &escaped(line);
        match self.shown {
            Shown::Full => {
                self.waiting += line;
                self.waiting.push('\n');
            }
            Shown::Nothing => self.stream.write(format!("{line}\n").as_bytes()),
            Shown::Lines => {
                let mut bytes = ERASE.to_vec();
                bytes.extend_from_slice(line.as_bytes());
                bytes.extend_from_slice(b"\r\n");
                let again = self.last.as_ref().and_then(|last| paint::lines(last).ok());
                bytes.extend(again.unwrap_or_default());
                self.stream.write(&bytes);
            }
        }
    }

    /// Takes the view away; what waited is written.
    pub fn hide(&mut self) {
        self.last = None;
        match self.shown {
            Shown::Nothing => return,
            Shown::Full => modes::normal(),
            Shown::Lines => {
                self.stream.write(ERASE);
                modes::lines(None);
            }
        }
        self.shown = Shown::Nothing;
        let waiting = std::mem::take(&mut self.waiting);
        self.stream.write(waiting.as_bytes());
    }

    /// Takes the view away and puts back all that was changed.
    pub fn end(&mut self) {
        self.hide();
        modes::restore();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.end();
    }
}
