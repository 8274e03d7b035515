//! `nicety vf watch`: rates as they are, again and again.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use nicety_model::vf::{PortCounters, VfReport};
use nicety_police::port_counters;
use nicety_policed::vf::inventory::Inventory;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::table;
use crate::cli::vf::WatchArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Samples that bars show at most, and however narrow the terminal is.
const KEPT: usize = 40;
const LEAST: usize = 8;
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
    let mut history = History::default();
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
        if !write(&text)? {
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

/// False when nobody reads any more.
fn write(text: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::environment(anyhow!(
            "cannot write to standard output: {error}"
        ))),
    }
}

/// The last rates of everything that is counted.
#[derive(Debug, Default)]
struct History(BTreeMap<String, [VecDeque<f64>; 2]>);

impl History {
    fn take(&mut self, report: &VfReport) {
        let mut named: Vec<(String, &PortCounters)> = Vec::new();
        for nic in &report.nics {
            for function in &nic.functions {
                let name = format!("{}/vf{}", nic.interface, function.vf);
                named.extend(function.counters.as_ref().map(|counters| (name, counters)));
            }
        }
        for port in &report.ports {
            let name = port.interface.clone();
            named.extend(port.counters.as_ref().map(|counters| (name, counters)));
        }
        self.0
            .retain(|name, _| named.iter().any(|(now, _)| now == name));
        for (name, counters) in named {
            let ways = self.0.entry(name).or_default();
            for (way, bps) in ways.iter_mut().zip([counters.tx_bps, counters.rx_bps]) {
                way.push_back(bps.unwrap_or(0.0));
                if way.len() > KEPT {
                    way.pop_front();
                }
            }
        }
    }

    /// A line for each, both ways on its own scale; the last samples where the width is short.
    fn bars(&self, width: u16) -> String {
        let longest = self.0.keys().map(|name| name.chars().count()).max();
        let longest = longest.unwrap_or(0);
        let words = "  sent   received ".len();
        let room = usize::from(width).saturating_sub(longest + words) / 2;
        let room = room.clamp(LEAST, KEPT);
        let mut text = String::new();
        for (name, [sent, received]) in &self.0 {
            let top = sent
                .iter()
                .chain(received)
                .fold(0.0, |top: f64, bps| top.max(*bps));
            text += &format!(
                "{name:<longest$}  sent {:<room$}  received {}\n",
                bars(sent, top, room),
                bars(received, top, room)
            );
        }
        text
    }
}

/// The last values in eighths of a block, `top` being a whole one.
fn bars(values: &VecDeque<f64>, top: f64, most: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |value: &f64| match top > 0.0 && *value > 0.0 {
        true => BARS[((value / top * 8.0).ceil() as usize).clamp(1, 8) - 1],
        false => ' ',
    };
    let old = values.len().saturating_sub(most);
    values.iter().skip(old).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nicety_model::vf::HostPort;

    #[test]
    fn bars_are_as_high_as_the_rates() {
        let of = |values: &[f64], top| bars(&values.iter().copied().collect(), top, KEPT);
        assert_eq!(of(&[0.0, 0.1, 4.0, 8.0], 8.0), " ▁▄█");
        assert_eq!(of(&[0.0, 0.0], 0.0), "  ");
        assert_eq!(of(&[f64::NAN], 1.0), " ");
    }

    #[test]
    fn lines_of_bars_fit_the_terminal() {
        let port = |rate| HostPort {
            interface: "tap0".to_owned(),
            counters: Some(PortCounters {
                tx_bps: Some(rate),
                rx_bps: Some(8.0),
                ..PortCounters::default()
            }),
            ..HostPort::default()
        };
        let mut history = History::default();
        for rate in 0..50 {
            let ports = vec![port(f64::from(rate % 9))];
            history.take(&VfReport {
                ports,
                ..VfReport::default()
            });
        }
        for (width, wide) in [(60, 60), (80, 80), (200, 102), (10, 38)] {
            let line = history.bars(width);
            assert_eq!(line.trim_end().chars().count(), wide, "{width}: {line}");
            assert!(line.contains("▃▄  received █"), "{line}");
        }
    }
}
