//! How far fetching has come: one line that moves on a terminal, one line per step elsewhere.

use std::io::{self, IsTerminal};

use indicatif::ProgressBar;
use nicety_guests::bundle;

use crate::output;

/// The line; nothing is shown while nothing is fetched.
#[derive(Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
    step: String,
}

impl Progress {
    /// Shows where it is.
    pub fn show(&mut self, now: bundle::Progress<'_>) {
        let new = self.step != now.step;
        if new {
            now.step.clone_into(&mut self.step);
        }
        let size = now
            .bytes
            .map_or_else(String::new, |bytes| format!(" ({} MB)", bytes / 1_000_000));
        if !io::stderr().is_terminal() {
            if new {
                output::say(&format!("nicety: {}{size}", now.step));
            }
            return;
        }
        let bar = self
            .bar
            .get_or_insert_with(|| output::bar(Some(100), "{bar:24} {percent:>3} % {wide_msg}"));
        bar.set_message(format!("{}{size}", now.step));
        bar.set_position((now.ratio.unwrap_or(0.0) * 100.0) as u64);
    }

    /// Takes the line away.
    pub fn done(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
