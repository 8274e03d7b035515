//! `nicety probe`: what can be done here, and what each missing thing costs.

use std::cell::{OnceCell, RefCell};
use std::io::{self, IsTerminal};

use indicatif::ProgressBar;
use nicety_model::probe::{Answer, Area, ProbeReport};
use nicety_report::probe as text;
use nicety_runner::probe::{self, Request};
use nicety_runner::{Event, Observer, Stage};

use crate::cli::host::ProbeArgs;
use crate::exit::{Exit, Failure};
use crate::kvm;
use crate::output;
use crate::signals::Signals;

/// Runs the command.
pub fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let progress = Progress::default();
    let request = Request {
        quick: args.quick,
        skip: &|| progress.skipped(),
    };
    let report = probe::all(&request, &progress).map_err(Failure::environment)?;
    progress.finish();
    output::page(&args.format, &report, || text::page(&report))?;
    Ok(exit(&report))
}

/// A line that moves on a terminal. Elsewhere only the one step that may take long is told, once.
#[derive(Default)]
struct Progress {
    bar: RefCell<Option<ProgressBar>>,
    told: kvm::Once,
    /// From the step on that can be skipped; before it Ctrl-C ends the program, which holds nothing.
    signals: OnceCell<Option<Signals>>,
}

impl Progress {
    /// Ctrl-C was pressed during the step that can be skipped.
    fn skipped(&self) -> bool {
        let install = || Signals::install().ok();
        let signals = self.signals.get_or_init(install);
        signals.as_ref().is_some_and(Signals::stopped)
    }

    /// Ticks by itself: a thread would keep an ordinary user out of the user namespace.
    fn turn(&self, text: String) {
        let mut bar = self.bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| output::bar(None, "{spinner} {wide_msg}"));
        bar.set_message(text);
        bar.tick();
    }

    fn finish(&self) {
        if let Some(bar) = self.bar.borrow_mut().take() {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn on(&self, event: Event<'_>) {
        let Event::Stage(stage) = event else { return };
        let terminal = io::stderr().is_terminal();
        match stage {
            Stage::Trying(area, name) if terminal => {
                self.turn(format!("trying {} {name}", kind(area)));
            }
            Stage::Accelerator(wait) if terminal => {
                self.turn(format!("{}; Ctrl-C skips", kvm::moving(wait)));
            }
            Stage::Accelerator(wait) => self.told.say(wait, "; --quick or Ctrl-C skips it"),
            _ => {}
        }
    }
}

fn kind(area: Area) -> &'static str {
    match area {
        Area::Engine => "engine",
        Area::Path => "path",
        Area::Guest => "guest",
        Area::Interface => "interface",
        Area::Job => "job",
    }
}

/// Without any engine nothing can be measured.
fn exit(report: &ProbeReport) -> Exit {
    let mut engines = report.abilities.iter().filter(|a| a.area == Area::Engine);
    if engines.any(|engine| engine.answer != Answer::No) {
        Exit::Done
    } else {
        Exit::Negative
    }
}
