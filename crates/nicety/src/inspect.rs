//! `nicety inspect`: facts about a host.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use nicety_advisor::Wishes;
use nicety_host::facts::{self, Capturing, Source};
use nicety_model::HostFacts;
use nicety_model::finding::Goal;
use nicety_model::run::Naming;
use nicety_tuner::TuneEvent;

use crate::cli::host::InspectArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::tune::events;

/// Runs the command.
pub fn run(args: &InspectArgs) -> Result<Exit, Failure> {
    let mut source = Source::at(args.sysroot.as_deref()).map_err(Failure::usage)?;
    if let Some(record) = args.out.as_ref().filter(|out| !is_file(out)) {
        source = source.recording(record).map_err(Failure::usage)?;
    }
    let mut naming = args.naming.naming();
    if !source.is_live() {
        // A recorded host is another one, with its own name.
        let recorded = source.identity();
        naming.hostname = recorded.host.filter(|_| !args.naming.no_hostname);
        naming.label = naming.label.or(recorded.label);
    }
    let mut facts = match args.out.as_ref().filter(|out| is_file(out)) {
        Some(file) => capture(source, file, args.window, &naming)?,
        None => {
            identify(&source, &naming);
            read(&source, args.window)
        }
    };
    facts.host.name(naming);
    if let Some(path) = &args.html {
        return picture(&facts, path);
    }
    output::page(&args.format, &facts, || {
        let advice = nicety_advisor::advise(&facts, Goal::Throughput, Wishes::default());
        nicety_report::facts::page(&facts, advice.findings.len())
    })?;
    Ok(Exit::Done)
}

/// Whether a record is one file.
fn is_file(out: &Path) -> bool {
    out.extension().is_some_and(|end| end == "json")
}

/// Reads the facts and writes what they were read from.
fn capture(
    source: Source,
    file: &Path,
    window: Option<Duration>,
    naming: &Naming,
) -> Result<HostFacts, Failure> {
    let (capturing, source) = Capturing::begin(source).map_err(Failure::environment)?;
    identify(&source, naming);
    let facts = read(&source, window);
    capturing.write(file).map_err(Failure::environment)?;
    output::say(&format!("captured: {}", file.display()));
    Ok(facts)
}

/// Notes in a record whose it is; a record of a record stays of its time.
fn identify(source: &Source, naming: &Naming) {
    if source.is_live() {
        source.identify(naming, SystemTime::now());
    } else {
        source.identify_as(naming, source.identity().captured());
    }
}

/// Writes the page with the host as a picture.
fn picture(facts: &HostFacts, path: &Path) -> Result<Exit, Failure> {
    let written = output::sink(path)
        .map_err(anyhow::Error::from)
        .and_then(|mut out| {
            nicety_report::host::render(facts, &nicety_advisor::picture(facts), &mut out)?;
            Ok(out.flush()?)
        });
    written
        .map(|()| Exit::Done)
        .map_err(|error| Failure::environment(anyhow!("cannot write {}: {error}", path.display())))
}

/// Reads the facts; of the running host after looking on for a while, when asked.
fn read(source: &Source, window: Option<Duration>) -> HostFacts {
    if let Some(time) = window.filter(|_| source.is_live()) {
        events::say(TuneEvent::Counting(time));
    }
    facts::read_after(source, window)
}
