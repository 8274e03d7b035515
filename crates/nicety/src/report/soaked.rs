//! `nicety report` of a soak.

use std::path::Path;

use anyhow::anyhow;
use nicety_report::soak as text;
use nicety_report::{html, json};
use nicety_runner::soak;

use super::{page, say_notes, without_cells};
use crate::cli::report::ReportArgs;
use crate::exit::Failure;
use crate::output;

/// Renders one soak.
pub fn run(path: &Path, args: &ReportArgs) -> Result<(), Failure> {
    if let Some(option) = without_cells(args) {
        return Err(Failure::usage(anyhow!(
            "{} is a soak of one cell, which has nothing for {option}; write --html, --json or --format",
            path.display()
        )));
    }
    let soaked = soak::read(path)?;
    say_notes(path, &soaked.summary.notes);
    let wrote = page(args, &soaked, html)?;
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
