//! `nicety probe`: what can be done here, and what each missing thing costs.

use nicety_model::probe::{Answer, Area, ProbeReport};
use nicety_report::probe as text;
use nicety_runner::{Event, Stage, probe};

use crate::cli::ProbeArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let show = |event: Event<'_>| {
        if let Event::Stage(Stage::Accelerator(step)) = event {
            output::say(&format!("nicety: {step}"));
        }
    };
    let report = probe::all(args.cache.clone(), &show).map_err(Failure::environment)?;
    let text = match args.json {
        true => output::pretty(&report)?,
        false => text::render(&report, output::table_options().width),
    };
    output::print_as("the answers", &text)?;
    Ok(exit(&report))
}

/// Without any engine nothing can be measured.
fn exit(report: &ProbeReport) -> Exit {
    let mut engines = report.abilities.iter().filter(|a| a.area == Area::Engine);
    match engines.any(|engine| engine.answer != Answer::No) {
        true => Exit::Done,
        false => Exit::Negative,
    }
}
