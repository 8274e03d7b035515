//! `nicety report`: renders what a run left behind.

pub mod policed;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use nicety_model::Run;
use nicety_report::{csv, html, json, junit, markdown, openmetrics, sock, table};
use nicety_runner::assemble;
use nicety_store::RunContents;

use crate::cli::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let files = [
        &args.html,
        &args.csv,
        &args.guest_csv,
        &args.ranking_csv,
        &args.direction_csv,
        &args.sock_csv,
        &args.md,
        &args.junit,
        &args.openmetrics,
    ];
    if args.runs.len() > 1 && (args.json || files.iter().any(|file| file.is_some())) {
        return Err(Failure::usage(anyhow!(
            "files and --json hold one run; give one run directory at a time"
        )));
    }
    for path in &args.runs {
        if nicety_store::is_policed(path) {
            policed::run(path, args)?;
            continue;
        }
        let run = read(path)?;
        let mut wrote = false;
        if let Some(file) = &args.html {
            write(file, |out| html(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.csv {
            write(file, |out| csv::render(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.guest_csv {
            write(file, |out| csv::guests::render(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.ranking_csv {
            write(file, |out| csv::ranking::render(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.direction_csv {
            write(file, |out| csv::directions::render(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.sock_csv {
            write(file, |out| sock::csv::render(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.md {
            write(file, |out| markdown(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.junit {
            write(file, |out| junit::render(&run, out))?;
            wrote = true;
        }
        if let Some(file) = &args.openmetrics {
            write(file, |out| openmetrics::render(&run, out))?;
            wrote = true;
        }
        if args.json {
            print_json(run)?;
        } else if !wrote {
            print_table(&run)?;
        }
    }
    Ok(Exit::Done)
}

/// Reads a run directory.
fn read(path: &Path) -> Result<Run, Failure> {
    let contents = RunContents::read_for_reports(path).map_err(Failure::usage)?;
    for note in &contents.notes {
        output::say(&format!("nicety: {}: {note}", path.display()));
    }
    assemble::run(contents).map_err(Failure::usage)
}

/// Reads a run without its trials, from its directory or from what `--json` printed.
pub fn read_results(path: &Path) -> Result<Run, Failure> {
    if path.is_file() {
        return nicety_store::read_run_json(path).map_err(Failure::usage);
    }
    let contents = RunContents::read_results(path).map_err(Failure::usage)?;
    for note in &contents.notes {
        output::say(&format!("nicety: {}: {note}", path.display()));
    }
    assemble::run(contents).map_err(Failure::usage)
}

/// The table on standard output.
pub fn print_table(run: &Run) -> Result<(), Failure> {
    rendered(table(
        run,
        &mut io::stdout().lock(),
        output::table_options(),
    ))
}

/// The run as one JSON object on standard output, without its trials.
pub fn print_json(mut run: Run) -> Result<(), Failure> {
    run.trials.clear();
    let mut out = io::stdout().lock();
    rendered(json::render(&run, &mut out, json::Style::Pretty))?;
    finish(writeln!(out))
}

/// Writes a rendered result to a file or, for `-`, to standard output.
pub fn write(
    file: &Path,
    render: impl FnOnce(&mut Box<dyn Write>) -> Result<(), nicety_report::ReportError>,
) -> Result<(), Failure> {
    let open = || -> anyhow::Result<Box<dyn Write>> {
        output::sink(file).map_err(|error| {
            anyhow!(
                "cannot write {}: {error}; name a file in a directory you may write to",
                file.display()
            )
        })
    };
    let mut out = open().map_err(Failure::environment)?;
    rendered(render(&mut out))?;
    finish(out.flush())
}

/// A reader that went away (`| head`) is not an error.
pub fn rendered(result: Result<(), nicety_report::ReportError>) -> Result<(), Failure> {
    match result {
        Err(error) if error.is_broken_pipe() => Ok(()),
        other => other.map_err(Failure::environment),
    }
}

fn finish(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other
            .context("cannot write the output")
            .map_err(Failure::environment),
    }
}
