//! `nicety tune persist`: settings that are to hold after the next boot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_advisor::persist::{self, HostFile, KEPT};
use nicety_host::knob::kept_below;
use nicety_model::journal::Phase;
use nicety_model::kept::{Kept, PersistReport};
use nicety_model::knob::{Change, Knob};
use nicety_model::{HostFacts, SCHEMA};

use super::commit::commit;
use super::state::Work;
use super::{apply, boot, plan, print_json};
use crate::cli::tune::{Format, PersistArgs};
use crate::exit::{Exit, Failure};
use crate::{inspect, output};

/// Runs the command.
pub fn run(args: &PersistArgs) -> Result<Exit, Failure> {
    let root = root(args.sysroot.as_deref())?;
    let work = Work::begin(args.state.as_deref())?;
    let mut report = PersistReport {
        schema: SCHEMA,
        transaction: None,
        written: Vec::new(),
        removed: Vec::new(),
        owners: Vec::new(),
        by_hand: Vec::new(),
        left: Vec::new(),
    };
    let files = match args.remove {
        true => Vec::new(),
        false => wanted(args, &root, &work, &mut report)?,
    };
    let stale = match (args.remove, args.format) {
        (true, _) => kept_below(&root),
        // A profile of tuned stands beside the files, not instead of them.
        (false, Format::Tuned) => Vec::new(),
        (false, Format::Files) => kept_below(&root)
            .into_iter()
            .filter(|path| !path.ends_with("etc/tuned/nicety/tuned.conf"))
            .collect(),
    };
    let changes = differences(&work, &root, &files, stale)?;
    for change in &changes {
        let path = change.knob.to_string();
        match change.to.is_empty() {
            true => report.removed.push(path),
            false => report.written.push(path),
        }
    }
    if args.dry_run {
        for file in &files {
            plan::print(&format!("==> /{}\n{}\n", file.path, file.text))?;
        }
    } else if !changes.is_empty() {
        report.transaction = Some(commit(&work, &changes.iter().collect::<Vec<_>>())?);
    }
    tell(&report, args)?;
    Ok(Exit::Done)
}

/// Where `etc` is.
fn root(sysroot: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(dir) = sysroot else {
        return Ok("/".into());
    };
    if dir.is_file() {
        return Err(Failure::usage(anyhow!(
            "{} is a file; persist writes below a folder, as nicety inspect --record makes one",
            dir.display()
        )));
    }
    dir.canonicalize()
        .map_err(|error| Failure::usage(anyhow!("cannot use {}: {error}", dir.display())))
}

/// The files that should be there, and what else there is to say.
fn wanted(
    args: &PersistArgs,
    root: &Path,
    work: &Work,
    report: &mut PersistReport,
) -> Result<Vec<HostFile>, Failure> {
    let source = inspect::source(args.sysroot.as_deref())?;
    let facts = inspect::read(&source, args.ask.window);
    let advice = match &args.plan {
        Some(path) => {
            let boot = args.sysroot.is_none().then_some(work.boot_id.as_str());
            apply::read_plan(path, &args.ask, boot)?
        }
        None => plan::advice(&facts, &args.ask, None),
    };
    let changes = match (&args.plan, &args.sysroot) {
        (None, None) => confirmed(work, args.transaction)?,
        _ => advice.changes().into_iter().cloned().collect(),
    };
    let (settings, left) = persist::portable(&facts, changes.iter());
    let mut kept = boot::read(&root.join(KEPT))?.unwrap_or_default();
    kept.merge(Kept {
        schema: SCHEMA,
        settings,
        modules: persist::modules(&advice),
    });
    report.left = left;
    report.by_hand = persist::by_hand(&advice);
    report.owners = persist::rivals(&facts, &kept);
    let files = files(args, &facts, &kept, report)?;
    by_hand(&files, report);
    Ok(files)
}

fn files(
    args: &PersistArgs,
    facts: &HostFacts,
    kept: &Kept,
    report: &mut PersistReport,
) -> Result<Vec<HostFile>, Failure> {
    if kept.is_empty() {
        return Err(Failure {
            exit: Exit::Negative,
            error: anyhow!(
                "there is nothing to keep; nicety tune apply and confirm change settings"
            ),
        });
    }
    if args.format == Format::Tuned {
        let (file, left) = persist::tuned(facts, kept);
        report.left.extend(left);
        return Ok(vec![file]);
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::environment(anyhow!("cannot find this program: {error}")))?;
    Ok(persist::files(facts, kept, &program.display().to_string()))
}

/// What has to follow the files.
fn by_hand(files: &[HostFile], report: &mut PersistReport) {
    for file in files {
        if file.path.ends_with(".xml") {
            let line = format!("put /{} into the domain with virsh edit", file.path);
            report.by_hand.push(line);
        }
        if file.path.starts_with("etc/tuned/") {
            report.by_hand.push("tuned-adm profile nicety".to_owned());
        }
    }
}

/// Changes of the transactions of this boot and namespace that were confirmed, older ones first.
fn confirmed(work: &Work, only: Option<u32>) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    let ids = work.state.ids().map_err(Failure::environment)?;
    if let Some(id) = only.filter(|id| !ids.contains(id)) {
        return Err(Failure::usage(anyhow!(
            "there is no transaction {id} in {}; see nicety tune history",
            work.state.path().display()
        )));
    }
    for id in ids {
        let journal = work.state.read(id).map_err(Failure::environment)?;
        let here = journal.phase() == Phase::Confirmed && work.check_here(id, &journal).is_ok();
        if !here || journal.outlives_boot() {
            if only == Some(id) {
                return Err(Failure::usage(anyhow!(
                    "transaction {id} is {} or of another boot or network namespace; only what is confirmed here can be kept",
                    super::report::phase(journal.phase())
                )));
            }
            continue;
        }
        if only.is_none_or(|only| only == id) {
            changes.extend(journal.steps().into_iter().map(|step| step.change));
        }
    }
    Ok(changes)
}

/// What is to be written and removed.
fn differences(
    work: &Work,
    root: &Path,
    files: &[HostFile],
    stale: Vec<PathBuf>,
) -> Result<Vec<Change>, Failure> {
    let mut wanted: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for path in stale {
        wanted.insert(path, "");
    }
    for file in files {
        wanted.insert(root.join(&file.path), &file.text);
    }
    let mut changes = Vec::new();
    for (path, to) in wanted {
        let knob = Knob::File {
            path: path.display().to_string(),
        };
        let from = work.knobs.read(&knob).map_err(Failure::environment)?;
        if from != to {
            let to = to.to_owned();
            changes.push(Change { knob, from, to });
        }
    }
    Ok(changes)
}

fn tell(report: &PersistReport, args: &PersistArgs) -> Result<(), Failure> {
    if args.json {
        return print_json(report);
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
    plan::print(&text)?;
    match report.transaction {
        Some(id) => output::say(&format!(
            "transaction {id}: nicety tune rollback {id} undoes it"
        )),
        None if args.dry_run => {}
        None if args.remove => output::say("nothing is kept"),
        None => output::say("everything is kept already"),
    }
    Ok(())
}
