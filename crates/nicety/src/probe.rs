//! `nicety probe`: what can be done here, and what each missing thing costs.
//!
//! What can be tried in namespaces that go with the process is tried; the rest is looked for.

mod engines;
mod guests;
mod interfaces;
mod jobs;
mod paths;
mod text;

use std::io::{self, Write};

use anyhow::anyhow;
use nicety_host::facts::{Source, read_after};
use nicety_host::netns::NetNs;
use nicety_host::privilege::{self, Privilege};
use nicety_model::SCHEMA;
use nicety_model::probe::{Answer, Area, ProbeReport};

use crate::cli::ProbeArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let report = look(args)?;
    let mut out = io::stdout().lock();
    let written = if args.json {
        serde_json::to_string_pretty(&report)
            .map_err(io::Error::other)
            .and_then(|text| writeln!(out, "{text}"))
    } else {
        out.write_all(text::render(&report, output::table_options().width).as_bytes())
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(
            anyhow!("cannot write the answers: {error}"),
        )),
        _ => Ok(exit(&report)),
    }
}

/// Without any engine nothing can be measured.
fn exit(report: &ProbeReport) -> Exit {
    let mut engines = report.abilities.iter().filter(|a| a.area == Area::Engine);
    match engines.any(|engine| engine.answer != Answer::No) {
        true => Exit::Done,
        false => Exit::Negative,
    }
}

fn look(args: &ProbeArgs) -> Result<ProbeReport, Failure> {
    let before = privilege::privilege().map_err(Failure::environment)?;
    // All that is told about the host comes before a user namespace hides some of it.
    let facts = read_after(&Source::live(), None);
    let mut abilities = interfaces::all(&facts);
    abilities.extend(jobs::of_user(before, &facts));
    let entered = match before {
        Privilege::Ordinary => privilege::enter_user_namespace(),
        _ => Ok(()),
    };
    match entered {
        Ok(()) => {
            abilities.extend(paths::built(before));
            abilities.extend(engines::all());
            abilities.extend(
                NetNs::create("probe")
                    .map(|ns| guests::nics(&ns))
                    .unwrap_or_default(),
            );
        }
        Err(error) => abilities.push(paths::no_namespaces(&error)),
    }
    abilities.extend(paths::switches());
    abilities.extend(guests::accelerator(args.cache.clone()));
    abilities.sort_by_key(|ability| ability.area);
    Ok(ProbeReport {
        schema: SCHEMA,
        nicety: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: facts.host.kernel,
        user: user(before).to_owned(),
        abilities,
    })
}

fn user(privilege: Privilege) -> &'static str {
    match privilege {
        Privilege::Privileged => "root",
        Privilege::UserNamespace => "user namespace",
        Privilege::Ordinary => "ordinary user",
    }
}
