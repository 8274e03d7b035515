//! The live line of a socket workload. Without a terminal, a line when a test ends.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::ProgressBar;
use nicety_account::workload::Step;
use nicety_model::counted::plural;
use nicety_model::plan::HowOften;
use nicety_model::sock::SockResult;
use nicety_runner::sock::{Event, Request};

use crate::output;

/// Runs shorter than this are over before anybody wonders.
const SHORT: Duration = Duration::from_secs(2);

/// Progress of all tests.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Whether to say anything at all.
    shown: bool,
}

impl Progress {
    /// Starts the line.
    pub fn start(request: &Request) -> Self {
        let total: Duration = request.asks.iter().map(|ask| ask.duration()).sum();
        let once = matches!(request.how_often, HowOften::Times(1));
        let shown = !once || total > SHORT;
        let moves = shown && io::stderr().is_terminal();
        let bar = moves.then(|| output::bar(None, "{spinner} {wide_msg}"));
        Self { bar, shown }
    }

    /// Shows what happens.
    pub fn on(&self, event: Event<'_>) {
        match event {
            Event::Begins {
                name,
                step,
                duration,
            } => self.turn(|| format!("{}, {} s", test(name, step), duration.as_secs_f64())),
            Event::Second {
                name,
                step,
                test: kind,
                second,
            } => self.turn(|| {
                let figure = if kind.has_transactions() {
                    plural(second.transactions, "transaction")
                } else {
                    let bytes = second.sent_bytes.max(second.received_bytes);
                    format!("{:.0} Mbit", bytes as f64 * 8.0 / 1e6)
                };
                let (name, at_s) = (test(name, step), second.at_s);
                format!("{name}  {at_s:.0} s  {figure} in the last second")
            }),
            Event::Ended { name, step, result } if self.shown => {
                let line = format!("{}: {}", test(name, step), figure(result));
                match &self.bar {
                    Some(bar) => bar.println(line),
                    None => output::say(&line),
                }
            }
            Event::Ended { .. } => {}
        }
    }

    /// Another text in the line that moves.
    fn turn(&self, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text());
            bar.tick();
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A test of a series; its name says how many flows it has.
fn test(name: &str, step: Step) -> String {
    match step.repeat {
        ..=1 => name.to_owned(),
        repeat => format!("{name}, repeat {repeat}"),
    }
}

/// The figure of one result in words.
pub fn figure(result: &SockResult) -> String {
    let figure = match (result.transactions_per_s, result.goodput_mbps) {
        (Some(rate), _) => format!("{rate:.0} transactions/s"),
        (None, Some(mbps)) => format!("{mbps:.0} Mbit/s"),
        (None, None) => "no result".to_owned(),
    };
    format!("{figure} ({})", result.ending.word())
}
