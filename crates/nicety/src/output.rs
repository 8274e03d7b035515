//! The only place that talks to the terminal.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nicety_host::variable;
use nicety_model::visible::{escaped, is_hidden};
use nicety_report::page::Page;
use nicety_report::{Options, Report, ReportError, markdown, rows, table};
use serde::Serialize;

use crate::cli::output::{Format, FormatArgs, GlobalArgs, When};
use crate::exit::Failure;
use crate::terminal::Stream;

/// Width assumed when standard output is not a terminal.
const PLAIN_WIDTH: u16 = 160;

/// How this invocation talks: decided once, from the command line.
#[derive(Debug, Clone, Copy, Default)]
struct Manner {
    quiet: bool,
    verbose: bool,
    colour: When,
}

static MANNER: OnceLock<Manner> = OnceLock::new();

/// Takes what every command takes from the command line.
pub fn begin(args: &GlobalArgs) {
    let manner = Manner {
        quiet: args.quiet,
        verbose: args.verbose,
        colour: args.color,
    };
    // There is one command line.
    let _ = MANNER.set(manner);
}

fn manner() -> Manner {
    MANNER.get().copied().unwrap_or_default()
}

/// Whether `--quiet` was given: no progress, no hints.
pub fn is_quiet() -> bool {
    manner().quiet
}

/// Whether `--verbose` was given: reasons and details too.
pub fn is_verbose() -> bool {
    manner().verbose
}

/// Whether a stream gets colours: `--color`, then NO_COLOR (no-color.org), CLICOLOR_FORCE and CLICOLOR
/// (bixense.com/clicolors), then whether it is a terminal that knows them.
pub fn colour(stream: &impl IsTerminal) -> bool {
    let on = |name| variable::named(name).map(|value| value != "0");
    match manner().colour {
        When::Always => true,
        When::Never => false,
        When::Auto if variable::named("NO_COLOR").is_some() => false,
        When::Auto if on("CLICOLOR_FORCE") == Some(true) => true,
        When::Auto if on("CLICOLOR") == Some(false) => false,
        When::Auto => {
            stream.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
        }
    }
}

/// One line of progress or advice on standard error; `--quiet` leaves it out.
pub fn say(text: &str) {
    if !is_quiet() {
        tell(text);
    }
}

/// One line on standard error that is a part of the answer. It stays one whatever names it quotes.
pub fn tell(text: &str) {
    // Nobody reads a closed standard error; there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{}", escaped(text));
}

/// The error a command ends with.
pub fn error(what: &impl std::fmt::Display) {
    tell(&format!("nicety: {what}"));
}

/// Prints tables in the format that was asked for.
pub fn page(
    format: &FormatArgs,
    value: &impl Serialize,
    page: impl FnOnce() -> Page,
) -> Result<(), Failure> {
    match format.format() {
        Format::Json => print_json(value),
        _ => print(&rendered(format, &page())?),
    }
}

/// Tables as text in the format that was asked for, which is not JSON.
pub fn rendered(format: &FormatArgs, page: &Page) -> Result<String, Failure> {
    match format.format() {
        Format::Md => Ok(page.markdown()),
        Format::Csv => page.csv(format.header()).map_err(Failure::environment),
        Format::Table | Format::Json => Ok(page.text(table_options(), format.header())),
    }
}

/// Prints a report in the format that was asked for; JSON and CSV are its own.
pub fn report(
    format: &FormatArgs,
    report: &dyn Report,
    json: impl FnOnce(&mut Vec<u8>) -> Result<(), ReportError>,
    csv: impl FnOnce(&mut Vec<u8>) -> Result<(), ReportError>,
) -> Result<(), Failure> {
    let mut text = Vec::new();
    let rendered = match (format.format(), format.header()) {
        (Format::Json, _) => json(&mut text),
        (Format::Csv, _) => csv(&mut text),
        (Format::Md, _) => markdown(report, &mut text),
        (Format::Table, true) => table(report, &mut text, table_options()),
        (Format::Table, false) => rows(report, &mut text, table_options()),
    };
    rendered.map_err(Failure::environment)?;
    let text = String::from_utf8_lossy(&text);
    // Names of columns hold no line ends.
    let body = match (format.format(), format.header(), text.split_once('\n')) {
        (Format::Csv, false, Some((_, rows))) => rows,
        _ => &text,
    };
    print(body)
}

/// A line of progress on standard error, see [`ProgressStyle`] for the template.
pub fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    let target = if is_quiet() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(length, target);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Writes to standard output; nobody reading is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_as("to standard output", text)
}

/// As [`print()`], of lines without colours. Names of others in them steer no terminal.
pub fn lines(text: &str) -> Result<(), Failure> {
    print(&text.replace(|c| c != '\n' && is_hidden(c), "\u{fffd}"))
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
    Options {
        width: Stream::Output.width().unwrap_or(PLAIN_WIDTH),
        colour: colour(&io::stdout()),
    }
}

/// Standard output, or a file. `-` is standard output.
pub fn sink(path: &Path) -> io::Result<Box<dyn Write>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdout().lock()));
    }
    Ok(Box::new(io::BufWriter::new(std::fs::File::create(path)?)))
}
