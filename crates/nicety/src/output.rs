//! The only place that talks to the terminal.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use nicety_report::Options;

/// Width assumed when standard output is not a terminal.
const PLAIN_WIDTH: u16 = 160;

/// One line on standard error.
pub fn say(text: &str) {
    // Nobody reads a closed standard error; there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// The error a command ends with, on one line whatever names it quotes.
pub fn error(what: &impl std::fmt::Display) {
    let mut line = String::new();
    for c in what.to_string().chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    say(&format!("nicety: {line}"));
}

/// How the table may look on standard output.
pub fn table_options() -> Options {
    let stdout = io::stdout();
    let terminal = stdout.is_terminal();
    let width = terminal_width().filter(|_| terminal).unwrap_or(PLAIN_WIDTH);
    // https://no-color.org: any non-empty value switches colours off.
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Options {
        width,
        colour: terminal && !plain,
    }
}

fn terminal_width() -> Option<u16> {
    rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .map(|size| size.ws_col)
        .filter(|w| *w > 0)
}

/// Standard output, or a file. `-` is standard output.
pub fn sink(path: &Path) -> io::Result<Box<dyn Write>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdout().lock()));
    }
    Ok(Box::new(io::BufWriter::new(std::fs::File::create(path)?)))
}
