//! `nicety probe`: what can be done here, and what each missing thing costs.

mod text;

use std::io::{self, Write};

use anyhow::anyhow;
use nicety_model::probe::{Answer, Area, ProbeReport};
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
    let mut out = io::stdout().lock();
    let written = if args.json {
        serde_json::to_string_pretty(&report)
            .map_err(io::Error::other)
            .and_then(|text| writeln!(out, "{text}"))
    } else {
        out.write_all(text::render(&report, output::table_options().width).as_bytes())
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(
            anyhow!("cannot write the answers: {error}"),
        )),
        _ => Ok(exit(&report)),
    }
}

/// Without any engine nothing can be measured.
fn exit(report: &ProbeReport) -> Exit {
    let mut engines = report.abilities.iter().filter(|a| a.area == Area::Engine);
    match engines.any(|engine| engine.answer != Answer::No) {
        true => Exit::Done,
        false => Exit::Negative,
    }
}
