//! `nicety inspect`: facts about a host.

mod interfaces;
pub mod page;
mod settings;
mod table;
mod vms;

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use nicety_host::facts::{self, Capturing, Source};
use nicety_host::fingerprint::Measurer;
use nicety_host::privilege::{Privilege, privilege};
use nicety_model::HostFacts;
use nicety_model::plan::format_duration;

use crate::cli::InspectArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &InspectArgs) -> Result<Exit, Failure> {
    let mut source = source(args.sysroot.as_deref())?;
    if let Some(record) = &args.record {
        source = source.recording(record).map_err(Failure::usage)?;
    }
    let facts = match &args.capture {
        Some(file) => capture(source, file, args.window)?,
        None => read(&source, args.window),
    };
    if let Some(path) = &args.html {
        return picture(&facts, path);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if args.json {
        // A large host is several MB of text: never whole in memory.
        serde_json::to_writer_pretty(&mut out, &facts)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        let width = output::table_options().width;
        out.write_all(table::render(&facts, width).as_bytes())
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(
            anyhow!("cannot write the facts: {error}"),
        )),
        _ => Ok(Exit::Done),
    }
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

/// The running host, or the one recorded below `sysroot`, which may be a captured file.
pub fn source(sysroot: Option<&Path>) -> Result<Source, Failure> {
    let Some(dir) = sysroot else {
        return Ok(Source::live());
    };
    if dir.is_file() {
        return Source::captured(dir).map_err(Failure::usage);
    }
    if !dir.join("proc").is_dir() && !dir.join("sys").is_dir() {
        return Err(Failure::usage(anyhow!(
            "{} holds neither proc nor sys; give a folder that nicety inspect --record made, or \
             a copy of both, or a file of --capture",
            dir.display()
        )));
    }
    Ok(Source::under(dir))
}

/// Reads the facts as this program; of the running host after looking on for a while, when asked.
pub fn read(source: &Source, window: Option<Duration>) -> HostFacts {
    let measurer = Measurer {
        version: env!("CARGO_PKG_VERSION"),
        privileged: matches!(privilege(), Ok(Privilege::Privileged)),
    };
    let mut notes = Vec::new();
    let watched = window.and_then(|time| {
        if source.is_live() {
            output::say(&format!("counting for {}", format_duration(time)));
        }
        source.watch(time, &mut notes)
    });
    let mut facts = facts::read(source, measurer);
    facts.notes.splice(0..0, notes);
    facts.window = watched.or(facts.window);
    facts
}
