//! The only place that talks to the terminal.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nicety_report::Options;
use serde::Serialize;

use crate::exit::Failure;

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

/// A line of progress on standard error, see [`ProgressStyle`] for the template.
pub fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Writes to standard output; nobody reading is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_as("to standard output", text)
}

/// As [`print()`], of text that an error names `what`.
pub fn print_as(what: &str, text: &str) -> Result<(), Failure> {
    print_on(what, text).map(drop)
}

/// As [`print_as`]; false when nobody reads any more.
pub fn print_on(what: &str, text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    written(
        what,
        out.write_all(text.as_bytes()).and_then(|()| out.flush()),
    )
}

/// One object on standard output. A large host is several MB of text: never whole in memory.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let json = serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from);
    let result = json.and_then(|()| writeln!(out)).and_then(|()| out.flush());
    written("to standard output", result).map(drop)
}

/// One object as text, to be printed or written.
pub fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::environment)?;
    Ok(text + "\n")
}

/// One object as one of many lines.
pub fn line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::environment(anyhow!("cannot write JSON: {error}")))?;
    Ok(text + "\n")
}

/// Whether somebody reads on: a reader that went away (`| head`) is no error.
pub fn written(what: &str, result: io::Result<()>) -> Result<bool, Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::environment(anyhow!(
            "cannot write {what}: {error}"
        ))),
        Ok(()) => Ok(true),
    }
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
