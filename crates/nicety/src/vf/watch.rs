//! `nicety vf watch`: rates as they are, again and again.
//!
//! On a terminal it has the whole screen, since it is nothing but a view. When it ends, the last sample
//! stays on the terminal as a table. Elsewhere it is a table or an object for each sample.

use std::time::{Duration, Instant};

use nicety_host::fingerprint;
use nicety_model::vf::VfReport;
use nicety_police::port_counters;
use nicety_policed::vf::inventory::Inventory;
use nicety_report::live::keys::View;
use nicety_report::vf as table;
use nicety_report::vf::watch::{History, Watch, screen};

use super::named;
use crate::cli::vf::WatchArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::terminal::{Asked, Events, Screen, Stream};

/// Samples, one after the other.
struct Samples<'a> {
    args: &'a WatchArgs,
    /// What to show, where that is not everything.
    only: Option<String>,
    inventory: Inventory,
    before: VfReport,
    at: Instant,
    taken: u64,
}

/// Runs the command.
pub fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    let inventory = Inventory::open()?;
    let only = named::only(args.interface.as_deref())?;
    let samples = Samples {
        before: inventory.report(only.as_deref())?,
        only,
        at: Instant::now(),
        inventory,
        args,
        taken: 0,
    };
    if Stream::Output.can_move() && !args.output.json {
        on_screen(samples)
    } else {
        as_lines(samples)
    }
}

impl Samples<'_> {
    /// Time until the next one is to be taken; absent after the last one.
    fn due(&self) -> Option<Duration> {
        let more = self.args.times.is_none_or(|times| self.taken < times);
        let next = self.at + self.args.every;
        more.then(|| next.saturating_duration_since(Instant::now()))
    }

    /// The next one.
    fn take(&mut self) -> Result<&VfReport, Failure> {
        let mut now = self.inventory.report(self.only.as_deref())?;
        port_counters::rates(&self.before, &mut now, self.at.elapsed());
        self.at = Instant::now();
        self.before = now;
        self.taken += 1;
        Ok(&self.before)
    }
}

/// A table or an object for each sample.
fn as_lines(mut samples: Samples<'_>) -> Result<Exit, Failure> {
    let mut events = Events::start(Stream::Output)?;
    while let Some(left) = samples.due() {
        match events.wait(left, &mut || {}) {
            Some(Asked::Quit) => break,
            Some(_) => continue,
            None => {}
        }
        let json = samples.args.output.json;
        let now = samples.take()?;
        let text = match json {
            true => output::line(now)?,
            false => table::stats(now).text(output::table_options(), true),
        };
        if !output::print_on("to standard output", &text)? {
            break;
        }
    }
    Ok(Exit::Done)
}

fn on_screen(mut samples: Samples<'_>) -> Result<Exit, Failure> {
    let mut terminal = Screen::new(Stream::Output);
    let shown = until_quit(&mut samples, &mut terminal);
    terminal.end();
    shown?;
    if samples.taken > 0 {
        output::print(&table::stats(&samples.before).text(output::table_options(), true))?;
    }
    Ok(Exit::Done)
}

fn until_quit(samples: &mut Samples<'_>, terminal: &mut Screen) -> Result<(), Failure> {
    let mut events = Events::start(Stream::Output)?;
    let host = fingerprint::hostname().unwrap_or_default();
    let mut history = History::default();
    history.take(&samples.before);
    let mut shown = samples.before.clone();
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
        let Some(left) = samples.due() else {
            return Ok(());
        };
        match events.wait(left, &mut || terminal.hide()) {
            Some(Asked::Quit) => return Ok(()),
            Some(Asked::Key(key)) if view.press(key) => return Ok(()),
            Some(_) => {}
            None => {
                let now = samples.take()?;
                // Frozen, it is counted on but not shown.
                if !view.frozen {
                    history.take(now);
                    now.clone_into(&mut shown);
                }
            }
        }
    }
}
