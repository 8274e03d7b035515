//! `nicety port limit`: checked before, journaled, written, read back, looked at afterwards.

use nicety_host::knob::Knobs;
use nicety_model::SCHEMA;
use nicety_model::journal::same_value;
use nicety_model::knob::Change;
use nicety_model::vf::LimitReport;
use nicety_police::event::SOFTWARE_ONLY;
use nicety_police::verdict::Verdict;
use nicety_policed::vf::inventory::Inventory;
use nicety_policed::vf::limit::LimitRequest;
use nicety_report::vf::limit;
use nicety_tuner::apply::commit;

use super::named;
use crate::cli::port::LimitArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &LimitArgs) -> Result<Exit, Failure> {
    let inventory = Inventory::open()?;
    let place = named::place(&args.port)?;
    let request = LimitRequest {
        interface: &place.interface,
        vf: place.vf,
        max: args.max,
        min: args.min,
    };
    let limit = inventory.limit(request)?;
    if let Some(rounded) = &limit.rounded {
        output::say(rounded);
    }
    let work = args.state.begin()?;
    let from = work.knobs.read(&limit.knob).map_err(Failure::environment)?;
    let transaction = if from == limit.value {
        // What was left half made is gone then; what cannot be removed limits nothing.
        let _ = work.knobs.tidy(&limit.knob);
        None
    } else {
        let change = Change {
            knob: limit.knob.clone(),
            from: from.clone(),
            to: limit.value.clone(),
        };
        Some(commit(&work, &[&change])?)
    };
    // The same of ports that are gone.
    inventory.sweep();
    drop(work);
    let verdict = inventory.verify(request, &limit, args.verify)?;
    if inventory.is_software_only(request)? {
        output::say(&format!("{}: {SOFTWARE_ONLY}", limit.port));
    }
    // A port that has gone meanwhile is nobody's.
    let knobs = Knobs::open().map_err(Failure::environment)?;
    let now = knobs.read(&limit.knob).ok();
    let replaced = now.filter(|now| !same_value(&limit.knob, now, &limit.value));
    let policed = crate::police::governs(knobs.namespace(), &limit.port, &from);
    let report = LimitReport {
        schema: SCHEMA,
        transaction,
        policed,
        port: limit.port,
        from,
        to: limit.value,
        rounded: limit.rounded,
        replaced,
        enforcement: verdict.word().to_owned(),
        seen_bps: verdict.seen_bps(),
    };
    print(&report, &verdict, args)
}

fn print(report: &LimitReport, verdict: &Verdict, args: &LimitArgs) -> Result<Exit, Failure> {
    if args.output.json {
        output::print_json(report)?;
    } else {
        let to = limit::shown(&report.to);
        let line = match report.transaction {
            Some(_) => format!("{}: {} → {to}\n", report.port, limit::shown(&report.from)),
            None => format!("{}: {to} already\n", report.port),
        };
        output::print(&line)?;
    }
    if let Some(id) = report.transaction {
        output::say(&format!(
            "transaction {id}: nicety tune undo {id} undoes it"
        ));
    }
    let lines = limit::lines(report, verdict);
    lines.iter().for_each(|line| output::tell(line));
    if report.replaced.is_some() || report.policed || matches!(verdict, Verdict::NotEnforced(_)) {
        Ok(Exit::Negative)
    } else {
        Ok(Exit::Done)
    }
}
