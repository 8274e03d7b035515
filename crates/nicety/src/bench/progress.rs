//! The live line: which cell, which trial, the bounds so far, and how long the whole run takes
//! yet. Without a terminal, a line when a cell ends.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use nicety_model::{CellResult, Purpose, SearchBounds};

use crate::output;

/// How often the clock on the line moves.
const TICK: Duration = Duration::from_millis(250);

/// Progress of a run.
pub struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    /// Expected end, in milliseconds after `started`.
    end_ms: Arc<AtomicU64>,
    cell: String,
}

impl Progress {
    /// Starts the line; `cells` is how many results are still to come. Starts a thread on a
    /// terminal, so namespaces must have been entered before.
    pub fn start(cells: u64) -> Self {
        let started = Instant::now();
        let end_ms = Arc::new(AtomicU64::new(0));
        let bar = io::stderr()
            .is_terminal()
            .then(|| bar(cells, started, Arc::clone(&end_ms)));
        Self {
            bar,
            started,
            end_ms,
            cell: String::new(),
        }
    }

    /// What is done before the first cell.
    pub fn stage(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => output::say(text),
        }
    }

    /// The whole run is expected to take `left` more.
    pub fn left(&self, left: Duration) {
        let end = self.started.elapsed() + left;
        self.end_ms.store(end.as_millis() as u64, Ordering::Relaxed);
    }

    /// A cell begins.
    pub fn cell(&mut self, name: &str, control: bool) {
        self.cell = if control {
            format!("{name} (control)")
        } else {
            name.to_owned()
        };
    }

    /// A trial begins.
    pub fn trial(&self, index: u32, purpose: Purpose, load_fps: f64, bounds: SearchBounds) {
        let Some(bar) = &self.bar else { return };
        let mut text = format!("{}  trial {index}", self.cell);
        let _ = match purpose {
            Purpose::WarmUp => write!(text, " warm-up"),
            Purpose::Search => write!(text, " search"),
            Purpose::Confirm => write!(text, " confirm"),
            Purpose::Latency { load_ratio } => {
                write!(text, " latency at {:.0} %", load_ratio * 100.0)
            }
        };
        let _ = write!(text, " {}", thousands(load_fps));
        let bound = |fps: Option<f64>| fps.map_or("?".to_owned(), thousands);
        if bounds.lower_fps.is_some() || bounds.upper_fps.is_some() {
            let _ = write!(
                text,
                "  [{} .. {}]",
                bound(bounds.lower_fps),
                bound(bounds.upper_fps)
            );
        }
        bar.set_message(text);
    }

    /// A cell ended.
    pub fn done(&self, result: &CellResult) {
        let line = format!(
            "{}{}: {} ({})",
            result.cell,
            if result.control.is_some() {
                " (control)"
            } else {
                ""
            },
            result.throughput_fps.map_or("no result".to_owned(), |fps| {
                format!("{} frames/s", thousands(fps))
            }),
            result.verdict
        );
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.println(line);
            }
            None => output::say(&line),
        }
    }

    /// A socket test begins; without a terminal only its end is told.
    pub fn doing(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }

    /// A socket test ended.
    pub fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.println(text);
            }
            None => output::say(text),
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(cells: u64, started: Instant, end_ms: Arc<AtomicU64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cells), ProgressDrawTarget::stderr());
    let left = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let end = Duration::from_millis(end_ms.load(Ordering::Relaxed));
        let left = end.saturating_sub(started.elapsed()).as_secs();
        let _ = if end.is_zero() {
            Ok(())
        } else {
            write!(out, "{}:{:02} left", left / 60, left % 60)
        };
    };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len}  {wide_msg}  {left}") {
        bar.set_style(style.with_key("left", left));
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// `412.3k`: enough digits for a line that moves.
fn thousands(fps: f64) -> String {
    match fps {
        f if f >= 1e6 => format!("{:.2}M", f / 1e6),
        f if f >= 1e3 => format!("{:.1}k", f / 1e3),
        f => format!("{f:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        assert_eq!(thousands(999.4), "999");
        assert_eq!(thousands(412_345.0), "412.3k");
        assert_eq!(thousands(14_880_952.0), "14.88M");
    }
}
