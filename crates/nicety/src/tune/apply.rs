//! `nicety tune apply`: changes settings, and has them changed back unless somebody confirms.

use nicety_host::facts::Source;
use nicety_model::SCHEMA;
use nicety_model::journal::{ApplyReport, Unchanged};
use nicety_model::knob::Change;
use nicety_report::plural;
use nicety_tuner::advice::{self, AdviceRequest};
use nicety_tuner::{Transaction, Work, apply};

use super::{events, finish, measure};
use crate::cli::tune::ApplyArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &ApplyArgs) -> Result<Exit, Failure> {
    let work = args.state.begin()?;
    if let Some(id) = args.confirm {
        return finish::confirm(&work, id, args.output.json);
    }
    let request = AdviceRequest::from(&args.ask);
    let advice = match &args.plan {
        Some(path) => advice::read_plan(path, &request, Some(&work.boot_id))?,
        None => advice::ask(&Source::live(), &request, &mut events::say)?,
    };
    let changes = advice.changes();
    if changes.is_empty() {
        if args.output.json {
            let (schema, settings) = (SCHEMA, []);
            let report = ApplyReport::Unchanged(Unchanged { schema, settings });
            output::print_json(&report)?;
        }
        output::say("nothing to change; nicety tune plan lists what needs you");
        return Ok(Exit::Done);
    }
    apply::check(&work, &changes, &mut events::say)?;
    if let Some(plan) = &args.measure {
        return match measure::run(&work, args, plan, &advice, &changes)? {
            Some(transaction) => show(&work, &transaction, &changes, args),
            None => Ok(Exit::Negative),
        };
    }
    let peer = args.ask.peer.or(advice.peer);
    let mut transaction = apply::apply(&work, &changes, args.confirm_within, peer)?;
    transaction.keep(args.confirm_within)?;
    show(&work, &transaction, &changes, args)
}

/// What was changed and how it is kept.
fn show(
    work: &Work,
    transaction: &Transaction<'_>,
    changes: &[&Change],
    args: &ApplyArgs,
) -> Result<Exit, Failure> {
    let id = transaction.id();
    let seconds = args.confirm_within.as_secs_f64();
    let state = match args.state.given() {
        Some(_) => format!(" --state {}", work.state.path().display()),
        None => String::new(),
    };
    if args.output.json {
        output::print_json(&ApplyReport::Applied(transaction.report()))?;
    } else {
        let lines = changes
            .iter()
            .map(|c| format!("{}: {} → {}\n", c.knob, c.from, c.to));
        output::lines(&lines.collect::<String>())?;
    }
    output::say(&format!(
        "transaction {id}: {} changed; undone in {seconds} s unless you run: nicety tune apply --confirm {id}{state}",
        plural(changes.len(), "setting")
    ));
    Ok(Exit::Done)
}
