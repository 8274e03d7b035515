//! `nicety report` of what `nicety police run --out` recorded.

use std::io;
use std::path::Path;

use anyhow::anyhow;
use nicety_policed::record;
use nicety_report::{html, json, markdown, policed, table};

use super::{rendered, write};
use crate::cli::ReportArgs;
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
        ("--openmetrics", &args.openmetrics),
    ];
    if let Some((option, _)) = cells.iter().find(|(_, file)| file.is_some()) {
        return Err(Failure::usage(anyhow!(
            "{} is a record of nicety police, which has no cells for {option}; write --html, --csv, --md or --json",
            path.display()
        )));
    }
    let run = record::read(path).map_err(Failure::usage)?;
    for note in &run.notes {
        output::say(&format!("nicety: {}: {note}", path.display()));
    }
    let mut wrote = false;
    if let Some(file) = &args.html {
        write(file, |out| html(&run, out))?;
        wrote = true;
    }
    if let Some(file) = &args.csv {
        write(file, |out| policed::csv(&run, out))?;
        wrote = true;
    }
    if let Some(file) = &args.md {
        write(file, |out| markdown(&run, out))?;
        wrote = true;
    }
    let mut out = io::stdout().lock();
    if args.json {
        return rendered(json::pretty(&run.run.policy, &run, &mut out));
    }
    if !wrote {
        return rendered(table(&run, &mut out, output::table_options()));
    }
    Ok(())
}
