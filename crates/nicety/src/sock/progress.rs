//! The live line of a socket workload. Without a terminal, a line when a test ends.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nicety_model::plan::HowOften;
use nicety_model::sock::{Second, SockResult, SockTest};

use crate::output;

use super::request::Request;

/// Runs shorter than this are over before anybody wonders.
const SHORT: Duration = Duration::from_secs(2);

/// Progress of all tests.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Whether to say anything at all.
    told: bool,
    name: std::cell::RefCell<String>,
}

impl Progress {
    /// Starts the line.
    pub fn start(request: &Request) -> Self {
        let total: Duration = request.asks.iter().map(|ask| ask.duration()).sum();
        let once = matches!(request.how_often, HowOften::Times(1));
        let told = !once || total > SHORT;
        let bar = (told && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self {
            bar,
            told,
            name: std::cell::RefCell::default(),
        }
    }

    /// A test begins.
    pub fn test(&self, name: &str, repeat: u32, duration: Duration) {
        let mut text = name.to_owned();
        if repeat > 1 {
            text.push_str(&format!(", repeat {repeat}"));
        }
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{text}, {} s", duration.as_secs_f64()));
            bar.tick();
        }
        self.name.replace(text);
    }

    /// A second of it is over.
    pub fn second(&self, test: SockTest, second: &Second) {
        if let Some(bar) = &self.bar {
            let name = self.name.borrow();
            let figure = match test.has_transactions() {
                true => format!("{} transactions", second.transactions),
                false => {
                    let bytes = second.sent_bytes.max(second.received_bytes);
                    format!("{:.0} Mbit", bytes as f64 * 8.0 / 1e6)
                }
            };
            bar.set_message(format!(
                "{name}  {:.0} s  {figure} in the last second",
                second.at_s
            ));
            bar.tick();
        }
    }

    /// A test is over.
    pub fn done(&self, result: &SockResult) {
        if !self.told {
            return;
        }
        let figure = match (result.transactions_per_s, result.goodput_mbps) {
            (Some(rate), _) => format!("{rate:.0} transactions/s"),
            (None, Some(mbps)) => format!("{mbps:.0} Mbit/s"),
            (None, None) => "no result".to_owned(),
        };
        let line = format!(
            "{}: {figure} ({})",
            self.name.borrow(),
            result.ending.word()
        );
        match &self.bar {
            Some(bar) => bar.println(line),
            None => output::say(&line),
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
