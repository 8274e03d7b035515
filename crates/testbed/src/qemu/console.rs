//! The last lines of what a machine says, for when it fails.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

const KEPT_LINES: usize = 60;
const LONGEST_LINE: usize = 300;

/// The last lines of a stream, read by a thread of its own so that the writer never waits.
#[derive(Debug)]
pub struct Console {
    tail: Arc<Mutex<Tail>>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<String>,
    open: String,
}

impl Console {
    /// Reads a stream to its end.
    pub fn read(mut stream: impl Read + Send + 'static) -> Self {
        let tail = Arc::new(Mutex::new(Tail::default()));
        let shared = Arc::clone(&tail);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..count]);
                shared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(&text);
            }
        });
        Self {
            tail,
            reader: Some(reader),
        }
    }

    /// The lines so far, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.tail
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .all()
    }

    /// Waits until the stream has ended; for when its writer has.
    pub fn finish(&mut self) {
        if let Some(reader) = self.reader.take() {
            // A reader that panicked has read what it could.
            let _ = reader.join();
        }
    }
}

impl Tail {
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => {
                    let line = std::mem::take(&mut self.open);
                    if !line.trim().is_empty() {
                        self.lines.push_back(line);
                    }
                    if self.lines.len() > KEPT_LINES {
                        self.lines.pop_front();
                    }
                }
                c if c.is_control() => {}
                c if self.open.len() < LONGEST_LINE => self.open.push(c),
                _ => {}
            }
        }
    }

    fn all(&self) -> Vec<String> {
        let open = (!self.open.trim().is_empty()).then(|| self.open.clone());
        self.lines.iter().cloned().chain(open).collect()
    }
}

/// The last few lines as one.
pub fn last_lines(lines: &[String]) -> String {
    const SHOWN: usize = 6;
    if lines.is_empty() {
        return "nothing was said".into();
    }
    lines[lines.len().saturating_sub(SHOWN)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_without_control_characters() {
        let mut text = String::new();
        for number in 0..100 {
            text += &format!("\x1b[2Jline {number}\r\n\r\n");
        }
        text += "open";
        let mut console = Console::read(std::io::Cursor::new(text));
        console.finish();
        let lines = console.lines();
        assert_eq!(lines.len(), KEPT_LINES + 1);
        assert_eq!(lines[KEPT_LINES - 1], "[2Jline 99");
        assert_eq!(lines[KEPT_LINES], "open");
        assert_eq!(last_lines(&lines[KEPT_LINES - 1..]), "[2Jline 99 | open");
        assert_eq!(last_lines(&[]), "nothing was said");
    }

    #[test]
    fn a_line_without_end_stays_short() {
        let mut console = Console::read(std::io::Cursor::new("x".repeat(1 << 20)));
        console.finish();
        assert_eq!(console.lines()[0].len(), LONGEST_LINE);
    }
}
