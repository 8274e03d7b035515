//! `nicety inspect`: facts about a host.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use nicety_host::facts::{self, Capturing, Source};
use nicety_model::HostFacts;
use nicety_tuner::TuneEvent;

use crate::cli::host::InspectArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::tune::events;

/// Runs the command.
pub fn run(args: &InspectArgs) -> Result<Exit, Failure> {
    let mut source = Source::at(args.sysroot.as_deref()).map_err(Failure::usage)?;
    if let Some(record) = &args.record {
        source = source.recording(record).map_err(Failure::usage)?;
    }
    let mut facts = match &args.capture {
        Some(file) => capture(source, file, args.window)?,
        None => read(&source, args.window),
    };
    let mut naming = args.naming.naming();
    // A recorded host is another one, whose name was not recorded.
    naming.hostname = naming.hostname.filter(|_| args.sysroot.is_none());
    facts.host.name(naming);
    if let Some(path) = &args.html {
        return picture(&facts, path);
    }
    output::page(&args.format, &facts, || nicety_report::facts::page(&facts))?;
    Ok(Exit::Done)
}

/// Reads the facts and writes what they were read from.
fn capture(source: Source, file: &Path, window: Option<Duration>) -> Result<HostFacts, Failure> {
    let (capturing, source) = Capturing::begin(source).map_err(Failure::environment)?;
    let facts = read(&source, window);
    capturing.write(file).map_err(Failure::environment)?;
    output::say(&format!("captured: {}", file.display()));
    Ok(facts)
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
