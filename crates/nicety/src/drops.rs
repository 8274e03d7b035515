//! `nicety drops`: which packets the kernel of this host drops, and whose they are.

use std::time::Instant;

use anyhow::anyhow;
use nicety_account::drops::{Watched, report};
use nicety_fate::{Drops, PLACES, Refusal};
use nicety_model::drops::{DropsReport, Unseen};
use nicety_policed::owners::{self, Found};
use nicety_report::drops as text;

use crate::cli::drops::DropsArgs;
use crate::cli::output::Format;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::port::named;
use crate::terminal::{Asked, Events, Stream};

/// Runs the command.
pub fn run(args: &DropsArgs) -> Result<Exit, Failure> {
    // Before anything else: without rights there is nothing to do.
    let mut drops = Drops::open(PLACES).map_err(refused)?;
    let only = named::only(args.only.as_deref())?;
    let mut before = owners::find()?;
    if let Some(only) = only.as_deref()
        && !before.owners.knows(only)
    {
        return Err(Failure::usage(anyhow!(
            "no interface and no owner of one here is called {only}; nicety drops without a name shows them"
        )));
    }
    let mut events = Events::start(Stream::Output)?;
    if !args.watch {
        output::say(&format!("watching for {:?}; Ctrl-C ends it", args.window));
    }
    loop {
        let begin = Instant::now();
        let asked = wait(&mut events, begin, args);
        let seconds = begin.elapsed().as_secs_f64();
        let read = drops.read(true).map_err(refused)?;
        let found = both(before, owners::find()?);
        let watched = Watched {
            seconds,
            uncounted: read.uncounted,
            unseen: unseen(&found, &drops, read.missed),
        };
        let report = report(&read.drops, &found.owners, watched, only.as_deref());
        before = found;
        if !shown(&report, args)? {
            return Ok(Exit::Done);
        }
        match (asked, args.watch) {
            (Some(Asked::Quit), false) => return Ok(Exit::Interrupted),
            (Some(Asked::Quit), true) | (_, false) => return Ok(Exit::Done),
            _ => {}
        }
    }
}

/// Waits for the end of the window, or until the user has enough.
fn wait(events: &mut Events, begin: Instant, args: &DropsArgs) -> Option<Asked> {
    loop {
        let left = args.window.saturating_sub(begin.elapsed());
        match events.wait(left, &mut || {}) {
            Some(Asked::Quit) => return Some(Asked::Quit),
            None => return None,
            Some(_) => {}
        }
    }
}

/// Prints it; false when nobody reads any more.
fn shown(report: &DropsReport, args: &DropsArgs) -> Result<bool, Failure> {
    let text = match (args.format.format(), args.watch) {
        (Format::Json, true) => output::line(report)?,
        _ if !args.watch => {
            let top = usize::from(args.top);
            output::page(&args.format, report, || text::page(report, top))?;
            return Ok(true);
        }
        (format, _) => {
            let page = text::page(report, usize::from(args.top));
            match format {
                Format::Md => page.markdown(),
                Format::Csv => page
                    .csv(args.format.header())
                    .map_err(Failure::environment)?,
                _ => page.text(output::table_options(), args.format.header()),
            }
        }
    };
    output::print_on("to standard output", &text)
}

/// Who was there at the beginning or the end; the end knows better.
fn both(before: Found, now: Found) -> Found {
    let mut owners = before.owners;
    owners.names.extend(now.owners.names);
    owners.interfaces.extend(now.owners.interfaces);
    owners.namespaces.extend(now.owners.namespaces);
    Found { owners, ..now }
}

fn unseen(found: &Found, drops: &Drops, missed: u64) -> Vec<Unseen> {
    let xdp = (!found.xdp.is_empty()).then(|| Unseen::XdpPrograms {
        interfaces: found.xdp.clone(),
    });
    let missed = (missed > 0).then_some(Unseen::Missed { events: missed });
    let lacks = [
        (!drops.has_reasons(), Unseen::Reasons),
        (!drops.has_functions(), Unseen::Functions),
        (!found.whole, Unseen::Owners),
        (true, Unseen::Outside),
    ];
    let lacks = lacks.into_iter().filter(|(is, _)| *is);
    xdp.into_iter()
        .chain(missed)
        .chain(lacks.map(|(_, what)| what))
        .collect()
}

/// What is missing, and what gives it.
fn refused(why: Refusal) -> Failure {
    Failure::environment(match why {
        Refusal::NotPermitted => anyhow!(
            "drops needs CAP_BPF and CAP_PERFMON: run it as root, or give them to a copy of nicety that only operators can run: see docs/guide/drops.md"
        ),
        Refusal::Kernel(why) => anyhow!("the kernel refuses the program that counts drops: {why}"),
        why => anyhow!("drops cannot be counted: {why}"),
    })
}
