//! `nicety tune apply --measure`: benches the changes, and keeps them only when they help.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use nicety_advisor::measured;
use nicety_model::Run;
use nicety_model::finding::Advice;
use nicety_model::knob::Change;
use nicety_model::measured::{Measured, MeasuredTarget};
use nicety_tuner::measure::{Leg, MeasureRequest, judge};
use nicety_tuner::{Transaction, Work};

use super::events;
use crate::cli::tune::ApplyArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::signals::Signals;

/// Measures and decides; the transaction, where the changes help.
pub fn run<'a>(
    work: &'a Work,
    args: &ApplyArgs,
    plan: &Path,
    advice: &Advice,
    changes: &[&Change],
) -> Result<Option<Transaction<'a>>, Failure> {
    // The one who sends Ctrl-C reaches the measurement as well; it ends, and the changes go back.
    let signals = Signals::install()?;
    let out = directory(args.out.as_deref())?;
    let request = MeasureRequest {
        changes,
        target: args
            .by
            .map_or_else(|| measured::target(advice.goal), MeasuredTarget::from),
        pairs: args.pairs,
        confirm_within: args.confirm_within,
        peer: args.ask.peer.or(advice.peer),
    };
    let bench = |leg: Leg| bench(plan, &out.join(name(leg)), &signals);
    let judged = judge(work, &request, bench, &mut events::say)?;
    let verdict = measured::words(&judged.measured);
    let page = write(&out, &judged.measured, &verdict)?;
    output::say(&verdict);
    output::say(&format!("report: {}", page.display()));
    let keeps = judged.keeps();
    match judged.transaction {
        Some(transaction) if keeps => return Ok(Some(transaction)),
        Some(transaction) if args.output.json => output::print_json(&transaction.report())?,
        _ => {}
    }
    output::say("the settings are as they were");
    Ok(None)
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

fn name(leg: Leg) -> String {
    let Leg {
        side, pair, again, ..
    } = leg;
    match again {
        0 => format!("{side}-{pair}"),
        _ => format!("{side}-{pair}-again-{again}"),
    }
}

/// One measurement, by this program in a process of its own: an ordinary user's measurement
/// enters a namespace from which the settings could not be put back.
fn bench(plan: &Path, out: &Path, signals: &Signals) -> Result<Run, Failure> {
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
    nicety_runner::assemble::run(run).map_err(Failure::environment)
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
