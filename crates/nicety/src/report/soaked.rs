//! `nicety report` of a soak.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_model::soak::Soaked;
use nicety_report::soak as text;
use nicety_report::{html, json, markdown};
use nicety_runner::soak;

use super::{Render, say_notes, write_all};
use crate::cli::report::ReportArgs;
use crate::exit::Failure;
use crate::output;

/// Renders one soak.
pub fn run(path: &Path, args: &ReportArgs) -> Result<(), Failure> {
    let cells = [
        ("--guest-csv", args.guest_csv.is_some()),
        ("--ranking-csv", args.ranking_csv.is_some()),
        ("--direction-csv", args.direction_csv.is_some()),
        ("--sock-csv", args.sock_csv.is_some()),
        ("--junit", args.junit.is_some()),
        ("--prometheus", args.prometheus.is_some()),
        ("--cell", args.cell.is_some()),
    ];
    if let Some((option, _)) = cells.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(anyhow!(
            "{} is a soak of one cell, which has nothing for {option}; write --html, --csv, --md or --json",
            path.display()
        )));
    }
    let soaked = soak::read(path)?;
    say_notes(path, &soaked.summary.notes);
    let files: [(&Option<PathBuf>, Render<Soaked>); 3] = [
        (&args.html, |soaked, out| html(soaked, out)),
        (&args.csv, |soaked, out| text::csv(soaked, out)),
        (&args.md, |soaked, out| markdown(soaked, out)),
    ];
    let wrote = write_all(&soaked, &files)?;
    if wrote && !args.format.given() {
        return Ok(());
    }
    output::report(
        &args.format,
        &soaked,
        |out| json::pretty(&soaked.run.name, &soaked, out),
        |out| text::csv(&soaked, out),
    )
}
