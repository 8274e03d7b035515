//! `nicety report` of what `nicety police run --out` recorded.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_model::policed::Policed;
use nicety_policed::record;
use nicety_report::{html, json, markdown, policed};

use super::{Render, say_notes, write_all};
use crate::cli::report::ReportArgs;
use crate::exit::Failure;
use crate::output;

/// Renders one record.
pub fn run(path: &Path, args: &ReportArgs) -> Result<(), Failure> {
    let cells = [
        ("--guest-csv", &args.guest_csv),
        ("--ranking-csv", &args.ranking_csv),
        ("--direction-csv", &args.direction_csv),
        ("--sock-csv", &args.sock_csv),
        ("--junit", &args.junit),
        ("--prometheus", &args.prometheus),
    ];
    if let Some((option, _)) = cells.iter().find(|(_, file)| file.is_some()) {
        return Err(Failure::usage(anyhow!(
            "{} is a record of nicety police, which has no cells for {option}; write --html, --csv, --md or --json",
            path.display()
        )));
    }
    if args.cell.is_some() {
        return Err(Failure::usage(anyhow!(
            "{} is a record of nicety police, which has no cells; leave out --cell",
            path.display()
        )));
    }
    let run = record::read(path).map_err(Failure::usage)?;
    say_notes(path, &run.notes);
    let files: [(&Option<PathBuf>, Render<Policed>); 3] = [
        (&args.html, |run, out| html(run, out)),
        (&args.csv, |run, out| policed::csv(run, out)),
        (&args.md, |run, out| markdown(run, out)),
    ];
    let wrote = write_all(&run, &files)?;
    if wrote && !args.format.given() {
        return Ok(());
    }
    output::report(
        &args.format,
        &run,
        |out| json::pretty(&run.run.policy, &run, out),
        |out| policed::csv(&run, out),
    )
}
