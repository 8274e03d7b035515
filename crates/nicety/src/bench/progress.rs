//! How far a run is: a view that moves on a terminal, elsewhere a line when a cell ends; a page
//! where it is asked for.

use std::io::{self, IsTerminal};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use nicety_model::run::CellSummary;
use nicety_model::{CellResult, Purpose, SearchBounds};

use super::live::board::Board;
use super::live::{Live, Shows};
use crate::exit::Failure;
use crate::output;

/// Progress of a run.
pub struct Progress {
    live: Option<Live>,
    started: Instant,
}

impl Progress {
    /// Starts to show `board`, and on a page named after the plan where somebody may ask. Starts
    /// threads, so namespaces must have been entered before.
    pub fn start(board: Board, web: Option<(TcpListener, String)>) -> Result<Self, Failure> {
        let started = Instant::now();
        // A terminal that calls itself dumb cannot move its cursor up.
        let terminal = io::stderr().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let live = match terminal || web.is_some() {
            true => Some(Live::start(board, started, Shows { terminal, web })?),
            false => None,
        };
        Ok(Self { live, started })
    }

    /// What is done before the first cell, and between cells.
    pub fn stage(&self, text: &str) {
        self.change(|board| board.stage(text));
        if !self.on_terminal() {
            output::say(text);
        }
    }

    /// The whole run is expected to take `left` more.
    pub fn left(&self, left: Duration) {
        self.change(|board| board.end = Some(self.started.elapsed() + left));
    }

    /// A cell begins.
    pub fn cell(&self, name: &str, control: bool) {
        self.change(|board| board.cell(name, control));
    }

    /// A trial of `cell` begins.
    pub fn trial(
        &self,
        cell: (&str, bool),
        trial: (u32, Purpose),
        load_fps: f64,
        bounds: SearchBounds,
    ) {
        self.change(|board| {
            // Building the path may have told of stages of its own.
            if board.now.is_none() {
                board.cell(cell.0, cell.1);
            }
            board.trial(trial.0, trial.1, load_fps, bounds);
        });
    }

    /// A visit of a cell ended; `so_far` is what all of its visits come to, where each is a part of
    /// one result, and how many there will be.
    pub fn done(&self, result: &CellResult, so_far: Option<(&CellSummary, u32)>) {
        let several =
            so_far.and_then(|(summary, visits)| Some((summary, summary.estimate?, visits)));
        if let Some((summary, estimate, visits)) = several {
            self.change(|board| board.done(result, Some(summary)));
            self.say(&format!(
                "{}: {} frames/s ({}–{}, {} of {} visits)",
                result.cell,
                thousands(estimate.fps),
                thousands(estimate.low_fps),
                thousands(estimate.high_fps),
                estimate.visits,
                // Further visits, and ten seconds that count as one, come on top.
                visits.max(estimate.visits)
            ));
            return;
        }
        let control = if result.control.is_some() {
            " (control)"
        } else {
            ""
        };
        let found = match result.throughput_fps {
            Some(fps) => format!("{} frames/s", thousands(fps)),
            None => "no result".to_owned(),
        };
        self.change(|board| board.done(result, None));
        self.say(&format!(
            "{}{control}: {found} ({})",
            result.cell, result.verdict
        ));
    }

    /// A cell cannot be measured here.
    pub fn skipped(&self, cell: &str, why: &str) {
        self.change(|board| board.skipped(cell));
        let line = format!("{cell}: skipped: {why}");
        match self.on_terminal() {
            true => self.say(&line),
            false => self.change(|board| board.told(&line)),
        }
    }

    /// A socket test begins; without a terminal only its end is told.
    pub fn doing(&self, text: &str) {
        self.change(|board| board.stage(text));
    }

    /// A socket test ended.
    pub fn line(&self, text: &str) {
        self.change(|board| board.sockets += 1);
        self.say(text);
    }

    /// Takes the view away.
    pub fn finish(&mut self) {
        self.live = None;
    }

    fn change(&self, change: impl FnOnce(&mut Board)) {
        if let Some(live) = &self.live {
            live.change(change);
        }
    }

    fn on_terminal(&self) -> bool {
        self.live.as_ref().is_some_and(Live::is_terminal)
    }

    fn say(&self, line: &str) {
        self.change(|board| board.told(line));
        match &self.live {
            Some(live) => live.say(line),
            None => output::say(line),
        }
    }
}

/// `412.3k`: enough digits for a line that moves.
pub fn thousands(fps: f64) -> String {
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
