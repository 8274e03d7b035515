//! `nicety load`: a constant load, set by hand or kept in a directory; an interval a line.

mod hand;
mod kept;
mod keys;
mod pcap;

use std::path::Path;

use anyhow::anyhow;
use nicety_model::interval::LoadSummary;
use nicety_model::{CellKey, Direction, Plan, cell_choice, number};

use crate::cli::load::{LoadArgs, LoadFailure};
use crate::exit::{Exit, Failure};
use crate::{output, what};

/// What it does to a cell.
const LOADS: &str = "nicety load loads";

/// Runs the command.
pub fn run(args: &LoadArgs) -> Result<Exit, Failure> {
    match (&args.out, &args.resume) {
        (None, None) => hand::run(args),
        (_, Some(dir)) => kept::run(args, kept::resumed(args, dir)?),
        (Some(dir), None) => kept::run(args, kept::new(args, dir)?),
    }
}

/// The plan of which a cell is loaded.
fn plan(args: &LoadArgs) -> Result<Plan, Failure> {
    let mut plan = what::plan(&args.what)?;
    if let Some(file) = args.what.plan() {
        no_options(args, &file)?;
        return Ok(plan);
    }
    plan.traffic.frame_sizes.truncate(1);
    if let Some(size) = args.size {
        plan.traffic.frame_sizes = vec![size];
    }
    if let Some(flows) = args.flows {
        plan.traffic.flows = vec![flows];
    }
    if args.bi {
        plan.traffic.directions = vec![Direction::Bi];
    }
    Ok(plan)
}

/// What a plan says is said nowhere else.
fn no_options(args: &LoadArgs, file: &Path) -> Result<(), Failure> {
    let options = [
        ("--size", args.size.is_some()),
        ("--flows", args.flows.is_some()),
        ("--bi", args.bi),
    ];
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(anyhow!(
            "{option} is for loads without a plan; write it in {}",
            file.display()
        ))),
    }
}

/// The exit code at the end that was asked for.
fn judged(args: &LoadArgs, summary: &LoadSummary) -> Exit {
    match failure(&args.fail_on, summary) {
        Some(why) => {
            output::tell(&format!("exit 1: {why}"));
            Exit::Negative
        }
        None => Exit::Done,
    }
}

/// What makes the exit code 1: what was asked for, and a load that was not sent.
fn failure(fail_on: &[LoadFailure], summary: &LoadSummary) -> Option<String> {
    let share = || summary.sent_share();
    asked_for(fail_on, summary)
        .or_else(|| Some(format!("sent {} of the load", number::share(share()?))))
}

/// What of that which was asked for happened.
fn asked_for(fail_on: &[LoadFailure], summary: &LoadSummary) -> Option<String> {
    let count = |what: LoadFailure| match what {
        LoadFailure::Loss => (summary.lost(), "frame was lost", "frames were lost", "loss"),
        LoadFailure::Gap => (summary.gap_count, "gap", "gaps", "gap"),
        LoadFailure::Invalid => (
            summary.invalid_intervals,
            "invalid interval",
            "invalid intervals",
            "invalid",
        ),
    };
    let mut all = fail_on.iter().map(|what| count(*what));
    let (count, one, many, word) = all.find(|(count, ..)| *count > 0)?;
    let words = if count == 1 { one } else { many };
    Some(format!(
        "{} {words} (--fail-on {word})",
        number::count(count)
    ))
}

/// The cell that is meant; of several one has to be named.
pub fn cell(plan: &Plan, typed: Option<&str>, does: &str) -> Result<CellKey, Failure> {
    let keys: Vec<CellKey> = plan.buildable_cells().collect();
    let names: Vec<String> = keys.iter().map(CellKey::name).collect();
    let name = match (typed, names.as_slice()) {
        (Some(typed), _) => cell_choice::choose(&names, typed)
            .map_err(|error| Failure::usage(anyhow!("--cell: {error}")))?,
        (None, [name]) => name,
        (None, []) => {
            return Err(Failure::usage(anyhow!(
                "the plan has no cell with frames that can be built; nicety bench says why"
            )));
        }
        (None, several) => {
            let numbered = several.iter().zip(1..);
            let named: Vec<String> = numbered.map(|(name, n)| format!("{n} ({name})")).collect();
            return Err(Failure::usage(anyhow!(
                "the plan has {} cells, and {does} one; name it with --cell: {}",
                several.len(),
                number::first_few(&named, 8, ", ")
            )));
        }
    };
    let found = keys.iter().find(|key| key.name() == name).cloned();
    found.ok_or_else(|| Failure::usage(anyhow!("--cell: no cell is called {name:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_what_was_asked_for() {
        let mut summary = LoadSummary::default();
        let all = [LoadFailure::Loss, LoadFailure::Gap, LoadFailure::Invalid];
        assert_eq!(failure(&all, &summary), None);
        summary.frames.lost = 3;
        summary.set_apart = 3;
        assert_eq!(
            failure(&all, &summary),
            None,
            "set apart is no loss of the path"
        );
        summary.gap_count = 1;
        assert_eq!(failure(&all, &summary).unwrap(), "1 gap (--fail-on gap)");
        summary.frames.lost = 5;
        let told = failure(&all, &summary).unwrap();
        assert_eq!(told, "2 frames were lost (--fail-on loss)");
        assert_eq!(failure(&[LoadFailure::Invalid], &summary), None);
        assert_eq!(failure(&[], &summary), None);
        (summary.load_fps, summary.offered_fps) = (20e3, 19.5e3);
        assert_eq!(failure(&[], &summary), None);
        summary.offered_fps = 6.96e3;
        assert_eq!(failure(&[], &summary).unwrap(), "sent 35 % of the load");
    }
}
