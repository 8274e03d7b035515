//! The last lines of what a machine says, for when it fails.

use std::collections::VecDeque;
use std::io::{self, Read};
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

    /// Reads one that there may be.
    pub(crate) fn of(stream: Option<impl Read + Send + 'static>) -> Self {
        match stream {
            Some(stream) => Self::read(stream),
            None => Self::read(io::empty()),
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

/// The last few lines as one; of a kernel that died, those that say of what.
pub fn last_lines(lines: &[String]) -> String {
    const SHOWN: usize = 6;
    if lines.is_empty() {
        return "nothing was said".into();
    }
    let last = || lines[lines.len().saturating_sub(SHOWN)..].join(" | ");
    death(lines).unwrap_or_else(last)
}

/// What happened, where, and what the kernel made of it. Registers and the call trace, which come after,
/// would fill a line of any length.
fn death(lines: &[String]) -> Option<String> {
    const FAULTS: [&str; 4] = ["BUG: ", "Oops: ", "general protection fault", "PANIC: "];
    const END: &str = "Kernel panic";
    let has_any = |line: &String, words: &[&str]| words.iter().any(|word| line.contains(word));
    let end = lines.iter().position(|line| has_any(line, &[END]))?;
    let before = &lines[..end];
    let fault = before.iter().position(|line| has_any(line, &FAULTS));
    let place = before[fault.unwrap_or(end)..]
        .iter()
        .find(|line| has_any(line, &["RIP: "]));
    let reported = fault.map(|at| &before[at]).into_iter().chain(place);
    let reported: Vec<&str> = reported.chain([&lines[end]]).map(String::as_str).collect();
    Some(reported.join(" | "))
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
    fn of_a_dead_kernel_the_cause_is_told() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let dead = lines(
            "[    1.0] up\n[    2.0] BUG: unable to handle page fault for address: 1\n[    2.0] #PF\n\
             [    2.0] RIP: 0010:somewhere+0x1/0x2\n[    2.0] RAX: 0\n[    2.0] RIP: 0033:0x7f\n\
             [    2.1] Kernel panic - not syncing: Fatal exception\n[    2.1] Kernel Offset: 0x1",
        );
        assert_eq!(
            last_lines(&dead),
            "[    2.0] BUG: unable to handle page fault for address: 1 | \
             [    2.0] RIP: 0010:somewhere+0x1/0x2 | \
             [    2.1] Kernel panic - not syncing: Fatal exception"
        );
        let stuck = lines("a\n[ 1.0] Kernel panic - not syncing: VFS\nb");
        assert_eq!(last_lines(&stuck), "[ 1.0] Kernel panic - not syncing: VFS");
    }

    #[test]
    fn a_line_without_end_stays_short() {
        let mut console = Console::read(std::io::Cursor::new("x".repeat(1 << 20)));
        console.finish();
        assert_eq!(console.lines()[0].len(), LONGEST_LINE);
    }
}
