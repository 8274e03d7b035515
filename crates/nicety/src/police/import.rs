//! `nicety police import`: a policy from what other programs have set.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use nicety_netdev::netns::NetNs;
use nicety_police::adopt::import::{ImportReport, import};
use nicety_policed::adopt::Host;

use crate::cli::police::ImportArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::port::named;

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let namespace = NetNs::current().map_err(Failure::environment)?;
    let host = Host::open(&namespace).and_then(|host| host.read_all());
    let host = host.map_err(Failure::environment)?;
    let named = args.ports.iter().map(|port| named::place(port));
    let named = named.map(|place| Ok(place?.interface.into_owned()));
    let named: Vec<String> = named.collect::<Result<_, Failure>>()?;
    let report = import(&host, &named);
    if args.output.json {
        output::print_json(&report)?;
    } else if report.has_senders() {
        let policy = report.policy(args.rate);
        match args.out.as_deref() {
            Some(file) if file != Path::new("-") => write(file, &policy)?,
            _ => output::print(&policy)?,
        }
    } else {
        let lines = report.received_alone().into_iter();
        output::print(&lines.map(|line| line + "\n").collect::<String>())?;
    }
    say(&report);
    Ok(if report.has_senders() {
        Exit::Done
    } else {
        Exit::Negative
    })
}

fn say(report: &ImportReport) {
    if !report.has_senders() {
        let no_policy = if report.limits.is_empty() {
            ""
        } else {
            ", so that there is no policy to write"
        };
        output::say(&format!(
            "nobody limits what a port sends{no_policy}; see tc filter show dev PORT ingress"
        ));
    }
    for other in &report.others {
        output::say(&format!("{}: not taken over: {}", other.port, other.why));
    }
}

/// A policy is somebody's work: none is written over.
fn write(file: &Path, policy: &str) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create_new(true).open(file);
    let written = made.and_then(|mut made| made.write_all(policy.as_bytes()));
    written.map_err(|error| {
        let file = file.display();
        Failure::usage(anyhow!(
            "cannot write {file}: {error}; name a new file with --out"
        ))
    })?;
    output::say(&format!("policy: {}", file.display()));
    Ok(())
}
