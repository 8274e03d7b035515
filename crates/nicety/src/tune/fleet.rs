//! `nicety tune plan` of many recorded hosts, side by side.

use std::path::PathBuf;

use anyhow::anyhow;
use indicatif::ProgressBar;
use nicety_host::captures;
use nicety_model::fleet::{FleetReport, GroupBy, UnreadCapture};
use nicety_report::{html, json, plural, tables_csv};
use nicety_tuner::advice::AdviceRequest;
use nicety_tuner::fleet::{FleetEvent, compare};

use crate::cli::tune::PlanArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::report::{prints, write};

/// Captures that cannot be read and older ones are named up to this number; the report counts them all.
const NAMED: usize = 10;

/// What siblings share where nothing is asked for.
const TRAITS: [GroupBy; 3] = [GroupBy::Cpu, GroupBy::Nic, GroupBy::Role];

/// Whether hosts are to be compared: one alone has a plan of its own.
pub fn is_meant(args: &PlanArgs) -> bool {
    let folder = |path: &PathBuf| path.is_dir() && !captures::is_record(path);
    let compares = args.html.is_some() || !args.group_by.is_empty();
    compares || args.captures.len() > 1 || args.captures.iter().any(folder)
}

/// Compares them.
pub fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let request = AdviceRequest::from(&args.ask);
    let by: Vec<GroupBy> = match args.group_by.as_slice() {
        [] => TRAITS.to_vec(),
        asked => asked.iter().copied().flatten().collect(),
    };
    let mut progress = Progress::default();
    let fleet = compare(&args.captures, &request, &by, &mut |event| {
        progress.on(&event);
    });
    progress.end();
    if fleet.hosts.is_empty() {
        return Err(Failure::usage(anyhow!(
            "no capture could be read; make one with nicety inspect -o HOST.json"
        )));
    }
    about_captures(&fleet);
    if let Some(file) = &args.html {
        write(file, |out| html(&fleet, out))?;
    }
    if prints(&args.format, [&args.html]) {
        output::report(
            &args.format,
            &fleet,
            |out| json::pretty("fleet", &fleet, out),
            |out| tables_csv(&fleet, out, true),
        )?;
    }
    Ok(if fleet.unread.is_empty() {
        Exit::Done
    } else {
        Exit::Negative
    })
}

/// Captures that were passed over for a newer one.
fn about_captures(fleet: &FleetReport) {
    for older in fleet.older.iter().take(NAMED) {
        output::say(&format!(
            "{}: {} is left out for the newer {}",
            older.name, older.file, older.newer
        ));
    }
    if fleet.older.len() > NAMED {
        let more = plural(fleet.older.len() - NAMED, "older capture");
        output::say(&format!("{more} more left out"));
    }
}

/// What is said while captures are read.
#[derive(Default)]
struct Progress {
    bar: Option<ProgressBar>,
    unread: usize,
}

impl Progress {
    fn on(&mut self, event: &FleetEvent<'_>) {
        match event {
            FleetEvent::Found(captures) => {
                let template = "reading captures {pos}/{len} {wide_bar} {eta}";
                self.bar = Some(output::bar(Some(*captures as u64), template));
            }
            FleetEvent::Read => {
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
            }
            FleetEvent::Unread(unread) => self.unread(unread),
        }
    }

    /// A part of the answer: it is said even when nothing else is.
    fn unread(&mut self, UnreadCapture { file, why }: &UnreadCapture) {
        self.unread += 1;
        if self.unread > NAMED {
            return;
        }
        let line = format!("nicety: {file}: {why}");
        match &self.bar {
            Some(bar) => bar.suspend(|| output::tell(&line)),
            None => output::tell(&line),
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.unread > NAMED {
            let more = plural(self.unread - NAMED, "capture");
            output::tell(&format!("nicety: {more} more could not be read"));
        }
    }
}
