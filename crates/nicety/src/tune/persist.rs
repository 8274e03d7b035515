//! `nicety tune persist`: settings that are to hold after the next boot.

use nicety_advisor::persist::Layout;
use nicety_model::kept::PersistReport;
use nicety_tuner::advice::AdviceRequest;
use nicety_tuner::persist::{PersistRequest, check_folder, persist};

use super::events;
use crate::cli::tune::{Format, PersistArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &PersistArgs) -> Result<Exit, Failure> {
    let root = check_folder(args.sysroot.as_deref())?;
    let work = args.state.begin()?;
    let request = PersistRequest {
        ask: AdviceRequest::from(&args.ask),
        plan: args.plan.as_deref(),
        transaction: args.transaction,
        sysroot: args.sysroot.as_deref(),
        layout: match args.format {
            Format::Files => Layout::Files,
            Format::Tuned => Layout::Tuned,
        },
        dry_run: args.dry_run,
        remove: args.remove,
    };
    let (report, files) = persist(&work, &request, &root, &mut events::say)?;
    if args.dry_run {
        for file in &files {
            output::lines(&format!("==> /{}\n{}\n", file.path, file.text))?;
        }
    }
    show(&report, args)?;
    Ok(Exit::Done)
}

fn show(report: &PersistReport, args: &PersistArgs) -> Result<(), Failure> {
    if args.output.json {
        return output::print_json(report);
    }
    let would = if args.dry_run { "would be " } else { "" };
    let mut text = String::new();
    for (lines, word) in [
        (&report.written, format!("{would}written: ")),
        (&report.removed, format!("{would}removed: ")),
        (&report.owners, "beware: ".to_owned()),
        (&report.by_hand, "by hand: ".to_owned()),
        (&report.left, "not kept: ".to_owned()),
    ] {
        for line in lines {
            text += &format!("{word}{line}\n");
        }
    }
    output::lines(&text)?;
    match report.transaction {
        Some(id) => output::say(&format!(
            "transaction {id}: nicety tune undo {id} undoes it"
        )),
        None if args.dry_run => {}
        None if args.remove => output::say("nothing is kept"),
        None => output::say("everything is kept already"),
    }
    Ok(())
}
