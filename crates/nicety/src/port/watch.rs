//! `nicety port list --watch`: rates as they are, again and again.
//!
//! On a terminal it has the whole screen, since it is nothing but a view. When it ends, the last sample
//! stays on the terminal as a table. Elsewhere it is a table or an object for each sample.

use std::time::Duration;

use nicety_host::fingerprint;
use nicety_model::vf::VfReport;
use nicety_report::live::keys::View;
use nicety_report::vf::watch::{History, Watch, screen};

use super::page;
use super::samples::Samples;
use crate::cli::output::{Format, FormatArgs};
use crate::cli::port::ListArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::terminal::{Asked, Events, Screen, Stream};

/// Samples as they are watched.
struct Watched<'a> {
    samples: Samples<'a>,
    every: Duration,
    format: &'a FormatArgs,
    /// How many are still to come; absent without an end.
    left: Option<u64>,
}

/// Runs the command.
pub fn run(samples: Samples<'_>, every: Duration, args: &ListArgs) -> Result<Exit, Failure> {
    let watched = Watched {
        samples,
        every,
        format: &args.format,
        left: args.times,
    };
    if Stream::Output.can_move() && !args.format.given() {
        on_screen(watched)
    } else {
        as_lines(watched)
    }
}

impl Watched<'_> {
    /// Time until the next one is to be taken; absent after the last one.
    fn due(&self) -> Option<Duration> {
        (self.left != Some(0)).then(|| self.samples.due(self.every))
    }

    /// The next one.
    fn take(&mut self) -> Result<&VfReport, Failure> {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.samples.take()
    }
}

/// A table or an object for each sample.
fn as_lines(mut watched: Watched<'_>) -> Result<Exit, Failure> {
    let mut events = Events::start(Stream::Output)?;
    while let Some(left) = watched.due() {
        match events.wait(left, &mut || {}) {
            Some(Asked::Quit) => break,
            Some(_) => continue,
            None => {}
        }
        let format = watched.format;
        let now = watched.take()?;
        let text = match format.format() {
            Format::Json => output::line(now)?,
            _ => output::rendered(format, &page(now))?,
        };
        if !output::print_on("to standard output", &text)? {
            break;
        }
    }
    Ok(Exit::Done)
}

fn on_screen(mut watched: Watched<'_>) -> Result<Exit, Failure> {
    let mut terminal = Screen::new(Stream::Output);
    let shown = until_quit(&mut watched, &mut terminal);
    terminal.end();
    shown?;
    let last = page(watched.samples.last());
    output::print(&output::rendered(watched.format, &last)?)?;
    Ok(Exit::Done)
}

fn until_quit(watched: &mut Watched<'_>, terminal: &mut Screen) -> Result<(), Failure> {
    let mut events = Events::start(Stream::Output)?;
    let host = fingerprint::hostname().unwrap_or_default();
    let mut history = History::default();
    history.take(watched.samples.last());
    let mut shown = watched.samples.last().clone();
    let mut view = View::default();
    loop {
        let (look, keys) = (terminal.look(), events.has_keys());
        let watch = Watch {
            host: &host,
            report: &shown,
            history: &history,
            look,
            keys,
        };
        terminal.full(|buffer| screen(watch, &mut view, buffer));
        let Some(left) = watched.due() else {
            return Ok(());
        };
        match events.wait(left, &mut || terminal.hide()) {
            Some(Asked::Quit) => return Ok(()),
            Some(Asked::Key(key)) if view.press(key) => return Ok(()),
            Some(_) => {}
            None => {
                let now = watched.take()?;
                // Frozen, it is counted on but not shown.
                if !view.frozen {
                    history.take(now);
                    now.clone_into(&mut shown);
                }
            }
        }
    }
}
