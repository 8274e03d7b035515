//! How far a run is: a view that moves on a terminal, elsewhere a line when a cell ends; a page
//! where it is asked for.

use std::cell::RefCell;
use std::net::TcpListener;
use std::time::Instant;

use nicety_account::workload::Step;
use nicety_model::CellResult;
use nicety_model::run::CellSummary;
use nicety_report::live::board::{Board, Goal};
use nicety_report::{plural, short, skips};
use nicety_runner::{Event, Observer, Stage, sock};

use super::live::{Live, Shows};
use crate::exit::Failure;
use crate::kvm;
use crate::lab::progress::Progress as Fetching;
use crate::output;
use crate::signals::Signals;
use crate::sock::progress::figure;
use crate::terminal::Stream;

/// Progress of a run.
pub struct Progress {
    live: Option<Live>,
    started: Instant,
    /// Cells of the plan.
    planned: usize,
}

impl Progress {
    /// Starts to show `board`, and on a page named after the plan where somebody may ask. Starts
    /// threads, so namespaces must have been entered before.
    pub fn start(
        board: Board,
        web: Option<(TcpListener, String)>,
        signals: &Signals,
    ) -> Result<Self, Failure> {
        let started = Instant::now();
        let planned = board.rows.iter().map(|row| row.cells.len()).sum();
        let shown = Stream::Error.can_move() && !output::is_quiet();
        let terminal = shown.then(|| signals.clone());
        let live = if terminal.is_some() || web.is_some() {
            Some(Live::start(board, started, Shows { terminal, web })?)
        } else {
            None
        };
        Ok(Self {
            live,
            started,
            planned,
        })
    }

    /// What is done before the first cell, and between cells.
    fn stage(&self, text: &str) {
        self.change(|board| board.stage(text));
        if !self.on_terminal() {
            output::say(text);
        }
    }

    /// A visit of a cell ended; `so_far` is what all of its visits come to, where each is a part of
    /// one result, and how many there will be.
    fn done(&self, result: &CellResult, so_far: Option<(&CellSummary, u32)>) {
        let several =
            so_far.and_then(|(summary, visits)| Some((summary, summary.estimate?, visits)));
        if let Some((summary, estimate, visits)) = several {
            self.change(|board| board.done(result, Some(summary)));
            let goals: Vec<Goal> = summary.goals.iter().map(Goal::so_far).collect();
            self.say(&format!(
                "{}: {} frames/s ({}–{}, {} of {}){}",
                result.cell,
                short(estimate.fps),
                short(estimate.low_fps),
                short(estimate.high_fps),
                estimate.visits,
                // Further visits, and a confirm trial that counts as one, come on top.
                plural(visits.max(estimate.visits), "visit"),
                further(&goals)
            ));
            return;
        }
        let control = if result.control.is_some() {
            " (control)"
        } else {
            ""
        };
        let found = match result.throughput_fps {
            Some(fps) => format!("{} frames/s", short(fps)),
            None => "no result".to_owned(),
        };
        self.change(|board| board.done(result, None));
        let goals: Vec<Goal> = result.goals.iter().map(Goal::of).collect();
        self.say(&format!(
            "{}{control}: {found} ({}){}",
            result.cell,
            result.verdict,
            further(&goals)
        ));
    }

    /// Cells cannot be measured here, all for one reason.
    fn skipped(&self, cells: &[String], why: &str) {
        self.change(|board| cells.iter().for_each(|cell| board.skipped(cell)));
        let names: Vec<&str> = cells.iter().map(String::as_str).collect();
        let line = format!("{}: skipped: {why}", skips::named(&names, self.planned));
        if self.on_terminal() {
            self.say(&line);
        } else {
            self.change(|board| board.log(&line));
        }
    }

    /// A socket test; without a terminal only its end is told.
    fn socket(&self, event: sock::Event<'_>) {
        match event {
            sock::Event::Begins {
                name,
                step,
                duration,
            } => {
                let text = format!("{}, {} s", test(name, step), duration.as_secs_f64());
                self.change(|board| board.stage(&text));
            }
            sock::Event::Second { .. } => {}
            sock::Event::Ended { name, step, result } => {
                self.change(|board| board.sockets += 1);
                self.say(&format!("{}: {}", test(name, step), figure(result)));
            }
        }
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
        self.change(|board| board.log(line));
        match &self.live {
            Some(live) => live.say(line),
            None => output::say(line),
        }
    }
}

impl Observer for Progress {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Fetching(_) | Event::Fetched | Event::Restored(_) => {}
            Event::Stage(stage) => self.stage(&words(stage)),
            Event::Left(left) => {
                self.change(|board| board.left(self.started.elapsed(), left));
            }
            Event::Cell { name, control } => self.change(|board| board.cell(name, control)),
            Event::Trial {
                cell,
                control,
                index,
                purpose,
                load,
                bounds,
                goals,
            } => self.change(|board| {
                // Building the path may have told of stages of its own.
                if board.now.is_none() {
                    board.cell(cell, control);
                }
                board.trial(index, purpose, load.0, bounds);
                board.goals(goals);
            }),
            Event::Tried {
                trial,
                within,
                bounds,
                goals,
            } => self.change(|board| {
                board.tried(trial, within, bounds);
                board.goals(goals);
            }),
            Event::Visited { result, so_far } => self.done(result, so_far),
            Event::Skipped { cells, reason } => self.skipped(cells, reason),
            Event::Socket(event) => self.socket(event),
        }
    }
}

/// What is shown before a run can be.
#[derive(Default)]
pub struct Preparing(RefCell<Fetching>);

impl Observer for Preparing {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Fetching(now) => self.0.borrow_mut().show(now),
            Event::Fetched => self.0.borrow_mut().done(),
            Event::Restored(text) => output::say(text),
            Event::Stage(stage) => output::say(&words(stage)),
            _ => {}
        }
    }
}

fn words(stage: Stage<'_>) -> String {
    match stage {
        Stage::Tester { size, direction } => format!("the tester alone, {size} {direction}"),
        Stage::Link { port, at_most } => {
            format!(
                "waiting for the link of {port}, {} s at most",
                at_most.as_secs()
            )
        }
        Stage::Through {
            ports: [a, b],
            at_most,
        } => format!(
            "nothing comes through from {a} to {b}; waiting up to {} s, as for a bridge port that STP blocks",
            at_most.as_secs()
        ),
        Stage::Trying(_, name) => format!("trying {name}"),
        Stage::Accelerator(wait) => kvm::moving(wait),
        Stage::Boot {
            guests,
            nic,
            vcpus,
            accelerator,
        } => {
            let what = match guests {
                1 => "a guest".to_owned(),
                several => format!("{several} guests"),
            };
            let cpus = plural(vcpus, "virtual CPU");
            format!("booting {what}: {nic}, {cpus}, {accelerator}")
        }
    }
}

/// What was found for the goals behind the strictest: `; PDR 1.02 M`.
fn further(goals: &[Goal]) -> String {
    let words = goals.iter().skip(1).map(|goal| format!("; {goal}"));
    words.collect()
}

/// A test of a series.
fn test(name: &str, step: Step) -> String {
    match (step.parallel, step.repeat) {
        (Some(pairs), _) => format!("{name}, {}", plural(pairs, "pair")),
        (None, 1) => name.to_owned(),
        (None, repeat) => format!("{name}, repeat {repeat}"),
    }
}
