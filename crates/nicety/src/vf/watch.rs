//! `nicety vf watch`: rates as they are, again and again.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nicety_police::port_counters;
use nicety_policed::vf::inventory::Inventory;
use nicety_report::vf::{self as table, Rates};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::vf::WatchArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// How soon an interrupt is seen.
const BLINK: Duration = Duration::from_millis(50);
/// Cursor to the top, and everything below removed (ECMA-48 CUP, ED): less flicker than a
/// screen that is emptied first.
const TOP: &str = "\x1b[H\x1b[J";

/// Runs the command.
pub fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::environment)?;
    }
    let inventory = Inventory::open()?;
    let live = io::stdout().is_terminal() && !args.json;
    let mut history = Rates::default();
    let mut before = inventory.report(args.interface.as_deref())?;
    let mut at = Instant::now();
    let mut shown = 0;
    while args.times.is_none_or(|times| shown < times) {
        if !pause(at + args.every, &stop) {
            break;
        }
        let mut now = inventory.report(args.interface.as_deref())?;
        port_counters::rates(&before, &mut now, at.elapsed());
        at = Instant::now();
        let text = if args.json {
            output::line(&now)?
        } else {
            history.take(&now);
            let width = output::table_options().width;
            let top = if live { TOP } else { "" };
            format!("{top}{}{}", table::stats(&now, width), history.bars(width))
        };
        if !output::print_on("to standard output", &text)? {
            break;
        }
        before = now;
        shown += 1;
    }
    Ok(Exit::Done)
}

/// Waits; false when it is to end.
fn pause(until: Instant, stop: &AtomicBool) -> bool {
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(BLINK));
    }
    false
}
