//! `nicety report`: renders what a run left behind.

pub mod policed;
mod soaked;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_model::{Note, Run, cell_choice, shell};
use nicety_report::{Brief, Report, ReportError, csv, html, json, junit, prometheus, sock};
use nicety_runner::assemble;
use nicety_store::RunContents;

use crate::cli::output::{Format, FormatArgs};
use crate::cli::report::{ReportArgs, Table};
use crate::exit::{Exit, Failure};
use crate::runs::Kept;
use crate::{demand, exposition, output};

/// Writes one kind of file.
type Render<R> = fn(&R, &mut Box<dyn Write>) -> Result<(), ReportError>;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let files = files(args);
    let one_each = args.format.given() || !files.is_empty();
    if args.runs.len() > 1 && one_each {
        return Err(Failure::usage(anyhow!(
            "files and formats hold one run; give one run directory at a time"
        )));
    }
    let mut exit = Exit::Done;
    let mut kept = Kept::default();
    for path in &args.runs {
        if nicety_store::is_soak(path) {
            soaked::run(path, args)?;
            continue;
        }
        if nicety_store::is_policed(path) {
            policed::run(path, args)?;
            continue;
        }
        let mut run = read(&mut kept, path, true)?;
        if let Some(cell) = &args.cell {
            only(&mut run, cell)?;
        }
        let wrote = write_all(&run, &files)?;
        // A stored run is judged only when that is asked for: to render it is all a plain report does.
        let judged = args.demand.strict || !args.demand.fail_on.is_empty();
        let why = judged.then(|| demand::line(&run, &args.demand)).flatten();
        // Standard output holds one thing.
        if args.format.given() || !wrote {
            print(run, &args.format, None)?;
        }
        if let Some(why) = why {
            output::tell(&why);
            exit = Exit::Negative;
        }
    }
    Ok(exit)
}

/// The files that were asked for.
fn files(args: &ReportArgs) -> Vec<(&Path, Render<Run>)> {
    let pages: [(_, Render<Run>); 3] = [
        (&args.html, |run, out| html(run, out)),
        (&args.junit, |run, out| junit::render(run, out)),
        (&args.prometheus, |run, out| {
            exposition::write(prometheus::families(run), out)
        }),
    ];
    let pages = pages.into_iter();
    let pages = pages.filter_map(|(file, render)| Some((file.as_deref()?, render)));
    let tables = args.csv.iter().map(|(table, file)| {
        let render: Render<Run> = match table {
            Table::Cells => |run, out| csv::render(run, out),
            Table::Visits => |run, out| csv::visits(run, out),
            Table::Guests => |run, out| csv::guests::render(run, out),
            Table::Ranking => |run, out| csv::ranking::render(run, out),
            Table::Directions => |run, out| csv::directions::render(run, out),
            Table::Sockets => |run, out| sock::csv::render(run, out),
        };
        (file.as_path(), render)
    });
    pages.chain(tables).collect()
}

/// Writes files; false when there are none.
fn write_all<R>(run: &R, files: &[(&Path, Render<R>)]) -> Result<bool, Failure> {
    for (file, render) in files {
        write(file, |out| render(run, out))?;
    }
    Ok(!files.is_empty())
}

/// What a record that is no run has nothing for: the option, where one of these was given.
fn without_cells(args: &ReportArgs) -> Option<&'static str> {
    let given = [
        ("--csv", !args.csv.is_empty()),
        ("--junit", args.junit.is_some()),
        ("--prometheus", args.prometheus.is_some()),
        ("--cell", args.cell.is_some()),
    ];
    let mut given = given.into_iter();
    given.find_map(|(option, given)| given.then_some(option))
}

/// The page of a record that is no run, where it was asked for; whether it was.
fn page<R>(args: &ReportArgs, record: &R, render: Render<R>) -> Result<bool, Failure> {
    let html = args.html.as_deref().map(|file| (file, render));
    write_all(record, html.as_slice())
}

/// Reads a run: a directory, or one of the store.
fn read(kept: &mut Kept, path: &Path, trials: bool) -> Result<Run, Failure> {
    let contents = match kept.contents(path, trials)? {
        Some(contents) => contents,
        None if trials => RunContents::read_for_reports(path).map_err(Failure::usage)?,
        None => RunContents::read_results(path).map_err(Failure::usage)?,
    };
    say_notes(path, &contents.notes);
    assemble::run(contents).map_err(Failure::usage)
}

fn say_notes(path: &Path, notes: &[Note]) {
    for note in notes {
        output::say(&format!("nicety: {}: {note}", path.display()));
    }
}

/// Reads a run without its trials, from its directory, the store or from what `--json` printed.
pub fn read_results(kept: &mut Kept, path: &Path) -> Result<Run, Failure> {
    if path.is_file() {
        nicety_store::read_run_json(path).map_err(Failure::usage)
    } else {
        read(kept, path, false)
    }
}

/// Leaves one cell in a run: its results, trials and socket tests.
fn only(run: &mut Run, typed: &str) -> Result<(), Failure> {
    let cells = nicety_report::cells(run);
    let cell = cell_choice::choose(&cells, typed)
        .map_err(|error| Failure::usage(anyhow!("--cell: {error}")))?;
    run.visits.retain(|of| of.cell == *cell);
    run.cells.retain(|of| of.cell == *cell);
    run.sockets.retain(|of| of.name == *cell);
    run.trials.retain(|of| of.cell == *cell);
    run.control = None;
    run.skipped.clear();
    run.left_out.clear();
    Ok(())
}

/// A run on standard output, without its trials. As a table it is the whole report, or the first screen of a run that
/// has just been measured into `fresh`: `-v` prints the whole there too, `-q` neither remedies nor where more is.
pub fn print(mut run: Run, format: &FormatArgs, fresh: Option<&Path>) -> Result<(), Failure> {
    if format.format() == Format::Json {
        run.trials.clear();
        // A large run is several MB of text: never whole in memory.
        let mut out = io::stdout().lock();
        rendered(json::render(&run, &mut out, json::Style::Pretty))?;
        return output::written("the output", writeln!(out)).map(drop);
    }
    let more = fresh.map(|dir| {
        format!(
            "More: {}, or -v",
            shell::command(["nicety", "report", &dir.display().to_string()])
        )
    });
    let brief = Brief {
        run: &run,
        more: more.as_deref().filter(|_| !output::is_quiet()),
    };
    let is_brief = more.is_some() && !output::is_verbose() && format.format() == Format::Table;
    output::report(
        format,
        if is_brief {
            &brief as &dyn Report
        } else {
            &run
        },
        |_| Ok(()),
        |out| {
            if run.visits.is_empty() && !run.sockets.is_empty() {
                sock::csv::render(&run, out)
            } else {
                csv::render(&run, out)
            }
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
