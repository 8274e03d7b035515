//! `nicety tune apply --measure`: before, after, before, after; what does not help is taken back.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use nicety_advisor::measured::{self, failed};
use nicety_host::journal::JournalFile;
use nicety_model::Run;
use nicety_model::finding::Advice;
use nicety_model::knob::Change;
use nicety_model::measured::{Measured, MeasuredDecision, MeasuredTarget};

use super::state::Work;
use super::{apply, print_json, report, transaction};
use crate::bench::signals::Signals;
use crate::cli::tune::ApplyArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Why the changes are undone between two measurements.
const AGAIN: &str = "measured, taken back to measure again";
/// How often a measurement with failed cells is repeated: what disturbed it may be over by then, and
/// three failures are no accident.
const REPETITIONS: u32 = 2;

/// Measures and decides.
pub fn run(
    work: &mut Work,
    args: &ApplyArgs,
    plan: &Path,
    advice: &Advice,
    changes: &[&Change],
) -> Result<Exit, Failure> {
    // The one who sends Ctrl-C reaches the measurement as well; it ends, and the changes go back.
    let signals = Signals::install()
        .context("cannot take over SIGINT and SIGTERM")
        .map_err(Failure::environment)?;
    let out = directory(args.out.as_deref())?;
    let peer = args.ask.peer.or(advice.peer);
    let target = args
        .by
        .map_or_else(|| measured::target(advice.goal), MeasuredTarget::from);
    let bench = |side: &str, pair: u32| {
        output::say(&format!("measuring {side}, {pair} of {}", args.pairs));
        side_of(target, plan, &out.join(format!("{side}-{pair}")), &signals)
    };
    // A cell that fails for good leaves nothing to decide: the rest is not measured any more.
    let hopeless = |runs: &[Run]| {
        runs.last()
            .is_some_and(|run| !failed(target, run).is_empty())
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut kept = None;
    for pair in 1..=args.pairs {
        before.push(bench("before", pair)?);
        if hopeless(&before) {
            break;
        }
        let (id, mut file) = apply::open(work, changes, args.confirm_within, peer)?;
        match bench("after", pair) {
            Ok(run) => after.push(run),
            Err(failure) => {
                undo(work, id, &mut file, "the measurement failed")?;
                return Err(failure);
            }
        }
        if pair == args.pairs || hopeless(&after) {
            kept = Some((id, file));
            break;
        }
        undo(work, id, &mut file, AGAIN)?;
    }
    let owned = changes.iter().map(|change| (*change).clone()).collect();
    let found = measured::judge(target, owned, &before, &after);
    let verdict = measured::words(&found);
    let keep = found.decision == MeasuredDecision::Kept;
    // Settings first: a full disk of reports must not keep them from going back.
    let id = match kept {
        Some((id, file)) if keep => {
            apply::keep(work, id, file, changes, args.confirm_within)?;
            Some(id)
        }
        Some((id, mut file)) => {
            undo(work, id, &mut file, &verdict)?;
            Some(id)
        }
        None => None,
    };
    let page = write(&out, &found, &verdict)?;
    output::say(&verdict);
    output::say(&format!("report: {}", page.display()));
    if let (true, Some(id)) = (keep, id) {
        return apply::tell(work, id, changes, args);
    }
    if let (true, Some(id)) = (args.json, id) {
        let journal = work.state.read(id).map_err(Failure::environment)?;
        print_json(&report::transaction(id, &journal))?;
    }
    output::say("the settings are as they were");
    Ok(Exit::Negative)
}

fn directory(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    match asked {
        Some(path) => std::fs::create_dir_all(path)
            .map(|()| path.to_owned())
            .map_err(|error| Failure::usage(anyhow!("cannot make {}: {error}", path.display()))),
        None => {
            let name = nicety_store::run_dir_name(SystemTime::now(), "tune");
            nicety_store::new_dir(Path::new("runs"), &name).map_err(Failure::environment)
        }
    }
}

/// One measurement; as often again as allowed while cells of it fail, which fills those in.
fn side_of(
    target: MeasuredTarget,
    plan: &Path,
    out: &Path,
    signals: &Signals,
) -> Result<Run, Failure> {
    let mut run = leg(plan, out, signals)?;
    for again in 1..=REPETITIONS {
        let lacking = failed(target, &run);
        let Some(first) = lacking.first() else {
            break;
        };
        let more = match lacking.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        output::say(&format!(
            "{first}{more} failed; measuring again, {again} of {REPETITIONS}"
        ));
        let mut name = out.as_os_str().to_owned();
        name.push(format!("-again-{again}"));
        measured::mend(target, &mut run, &leg(plan, Path::new(&name), signals)?);
    }
    Ok(run)
}

/// One measurement, by this program in a process of its own: an ordinary user's measurement
/// enters a namespace from which the settings could not be put back.
fn leg(plan: &Path, out: &Path, signals: &Signals) -> Result<Run, Failure> {
    let start = || -> anyhow::Result<std::process::Output> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let command = Command::new(program)
            .args(["bench", "--json", "--out"])
            .arg(out)
            .arg(plan)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output();
        command.context("cannot start the measurement")
    };
    let ended = start().map_err(Failure::environment)?;
    if signals.stopped() {
        return Err(Failure {
            exit: Exit::Interrupted,
            error: anyhow!("interrupted; the settings are as they were"),
        });
    }
    // 1: a cell failed; the others have numbers.
    let code = ended.status.code();
    if !matches!(code, Some(0 | 1)) {
        let exit = match code {
            Some(2) => Exit::Usage,
            Some(4) => Exit::Interrupted,
            _ => Exit::Environment,
        };
        let error = anyhow!("the measurement ended early; the settings are as they were");
        return Err(Failure { exit, error });
    }
    let run = nicety_store::RunContents::read(out).map_err(Failure::environment)?;
    crate::bench::assemble::run(run).map_err(Failure::environment)
}

fn undo(work: &Work, id: u32, file: &mut JournalFile, why: &str) -> Result<(), Failure> {
    let journal = work.state.read(id).map_err(Failure::environment)?;
    let outcomes =
        transaction::undo(&work.knobs, &journal, file, why, false).map_err(Failure::environment)?;
    match outcomes.iter().any(|(_, outcome)| report::is_left(outcome)) {
        true => Err(Failure {
            exit: Exit::Negative,
            error: anyhow!("transaction {id} was undone{}", report::outcomes(&outcomes)),
        }),
        false => Ok(()),
    }
}

/// Writes the page and its numbers; returns the page.
fn write(out: &Path, found: &Measured, verdict: &str) -> Result<PathBuf, Failure> {
    let page = out.join("measured.html");
    let mut html = Vec::new();
    let mut written = || -> anyhow::Result<()> {
        nicety_report::measured::render(found, verdict, &mut html)?;
        std::fs::write(&page, &html).with_context(|| format!("cannot write {}", page.display()))?;
        let json = out.join("measured.json");
        std::fs::write(&json, serde_json::to_string_pretty(found)? + "\n")
            .with_context(|| format!("cannot write {}", json.display()))
    };
    written().map_err(Failure::environment)?;
    Ok(page)
}
