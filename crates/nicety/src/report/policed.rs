//! `nicety report` of what `nicety police run --out` recorded.

use std::path::Path;

use anyhow::anyhow;
use nicety_policed::record;
use nicety_report::{html, json, policed};

use super::{page, say_notes, without_cells};
use crate::cli::report::ReportArgs;
use crate::exit::Failure;
use crate::output;

/// Renders one record.
pub fn run(path: &Path, args: &ReportArgs) -> Result<(), Failure> {
    if let Some(option) = without_cells(args) {
        return Err(Failure::usage(anyhow!(
            "{} is a record of nicety police, which has nothing for {option}; write --html, --json or --format",
            path.display()
        )));
    }
    let run = record::read(path).map_err(Failure::usage)?;
    say_notes(path, &run.notes);
    let wrote = page(args, &run, html)?;
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
