//! `nicety report`: renders what a run left behind.

pub mod policed;
mod soaked;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_model::{Note, Run, cell_choice};
use nicety_report::{ReportError, csv, html, json, junit, markdown, prometheus, sock};
use nicety_runner::assemble;
use nicety_store::{RunContents, StoreError};

use crate::cli::output::{Format, FormatArgs};
use crate::cli::report::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::{demand, exposition, output};

/// Writes one kind of file.
type Render<R> = fn(&R, &mut Box<dyn Write>) -> Result<(), ReportError>;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let files: [(&Option<PathBuf>, Render<Run>); 9] = [
        (&args.html, |run, out| html(run, out)),
        (&args.csv, |run, out| csv::render(run, out)),
        (&args.guest_csv, |run, out| csv::guests::render(run, out)),
        (&args.ranking_csv, |run, out| csv::ranking::render(run, out)),
        (&args.direction_csv, |run, out| {
            csv::directions::render(run, out)
        }),
        (&args.sock_csv, |run, out| sock::csv::render(run, out)),
        (&args.md, |run, out| markdown(run, out)),
        (&args.junit, |run, out| junit::render(run, out)),
        (&args.prometheus, |run, out| {
            exposition::write(prometheus::families(run), out)
        }),
    ];
    let one_each = args.format.given() || files.iter().any(|(file, _)| file.is_some());
    if args.runs.len() > 1 && one_each {
        return Err(Failure::usage(anyhow!(
            "files and formats hold one run; give one run directory at a time"
        )));
    }
    let mut exit = Exit::Done;
    for path in &args.runs {
        if nicety_store::is_soak(path) {
            soaked::run(path, args)?;
            continue;
        }
        if nicety_store::is_policed(path) {
            policed::run(path, args)?;
            continue;
        }
        let mut run = read(path, RunContents::read_for_reports)?;
        if let Some(cell) = &args.cell {
            only(&mut run, cell)?;
        }
        let wrote = write_all(&run, &files)?;
        // A stored run is judged only when that is asked for: to render it is all a plain report does.
        let judged = args.demand.strict || !args.demand.fail_on.is_empty();
        let why = judged.then(|| demand::line(&run, &args.demand)).flatten();
        // Standard output holds one thing.
        if args.format.given() || !wrote {
            print(run, &args.format)?;
        }
        if let Some(why) = why {
            output::tell(&why);
            exit = Exit::Negative;
        }
    }
    Ok(exit)
}

/// Writes the files that were asked for; false when none was.
fn write_all<R>(run: &R, files: &[(&Option<PathBuf>, Render<R>)]) -> Result<bool, Failure> {
    let mut wrote = false;
    for (file, render) in files {
        if let Some(file) = file {
            write(file, |out| render(run, out))?;
            wrote = true;
        }
    }
    Ok(wrote)
}

/// Reads a run directory.
fn read(
    path: &Path,
    contents: fn(&Path) -> Result<RunContents, StoreError>,
) -> Result<Run, Failure> {
    let contents = contents(path).map_err(Failure::usage)?;
    say_notes(path, &contents.notes);
    assemble::run(contents).map_err(Failure::usage)
}

fn say_notes(path: &Path, notes: &[Note]) {
    for note in notes {
        output::say(&format!("nicety: {}: {note}", path.display()));
    }
}

/// Reads a run without its trials, from its directory or from what `--json` printed.
pub fn read_results(path: &Path) -> Result<Run, Failure> {
    match path.is_file() {
        true => nicety_store::read_run_json(path).map_err(Failure::usage),
        false => read(path, RunContents::read_results),
    }
}

/// Leaves one cell in a run: its results, trials and socket tests.
fn only(run: &mut Run, typed: &str) -> Result<(), Failure> {
    let cells = nicety_report::cells(run);
    let cell = cell_choice::choose(&cells, typed)
        .map_err(|error| Failure::usage(anyhow!("--cell: {error}")))?;
    run.cells.retain(|of| of.cell == *cell);
    run.summary.retain(|of| of.cell == *cell);
    run.sockets.retain(|of| of.name == *cell);
    run.trials.retain(|of| of.cell == *cell);
    run.control = None;
    run.skipped.clear();
    run.left_out.clear();
    Ok(())
}

/// A run on standard output, without its trials.
pub fn print(mut run: Run, format: &FormatArgs) -> Result<(), Failure> {
    if format.format() == Format::Json {
        run.trials.clear();
        // A large run is several MB of text: never whole in memory.
        let mut out = io::stdout().lock();
        rendered(json::render(&run, &mut out, json::Style::Pretty))?;
        return output::written("the output", writeln!(out)).map(drop);
    }
    output::report(
        format,
        &run,
        |_| Ok(()),
        |out| match run.cells.is_empty() && !run.sockets.is_empty() {
            true => sock::csv::render(&run, out),
            false => csv::render(&run, out),
        },
    )
}

/// Whether a command prints its report beside these files: standard output holds one thing, and a file may have taken it.
pub fn prints<const N: usize>(format: &FormatArgs, files: [&Option<PathBuf>; N]) -> bool {
    let taken = files
        .into_iter()
        .flatten()
        .any(|file| file.as_os_str() == "-");
    format.given() || !taken
}

/// Writes a rendered result to a file or, for `-`, to standard output.
pub fn write(
    file: &Path,
    render: impl FnOnce(&mut Box<dyn Write>) -> Result<(), ReportError>,
) -> Result<(), Failure> {
    let mut out = output::sink(file).map_err(|error| {
        Failure::environment(anyhow!(
            "cannot write {}: {error}; name a file in a directory you may write to",
            file.display()
        ))
    })?;
    rendered(render(&mut out))?;
    output::written("the output", out.flush()).map(drop)
}

/// A reader that went away (`| head`) is not an error.
pub fn rendered(result: Result<(), ReportError>) -> Result<(), Failure> {
    match result {
        Err(error) if error.is_broken_pipe() => Ok(()),
        other => other.map_err(Failure::environment),
    }
}
