//! `nicety tune apply`: changes settings, and has them changed back unless somebody confirms.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow};
use nicety_host::facts::Source;
use nicety_host::journal::{JournalFile, since_boot};
use nicety_model::SCHEMA;
use nicety_model::finding::Advice;
use nicety_model::journal::{Event, Phase};
use nicety_model::knob::Change;

use super::path_mtu::PathCheck;
use super::state::Work;
use super::transaction::{self, Need, Stop};
use super::{measure, plan, report};
use crate::cli::tune::ApplyArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Largest plan file, in bytes.
const LARGEST_PLAN: u64 = 16 << 20;

/// Runs the command.
pub fn run(args: &ApplyArgs) -> Result<Exit, Failure> {
    let mut work = Work::begin(args.state.as_deref())?;
    let advice = match &args.plan {
        Some(path) => read_plan(path, &args.ask, Some(&work.boot_id))?,
        None => plan::ask(&Source::live(), &args.ask)?,
    };
    let changes = advice.changes();
    if changes.is_empty() {
        output::say("nothing to change; nicety tune plan shows what needs a person");
        return Ok(Exit::Done);
    }
    refuse_second(&work)?;
    let moved = transaction::moved(&work.knobs, &changes);
    if !moved.is_empty() {
        for line in &moved {
            output::say(line);
        }
        return Err(Failure {
            exit: Exit::Negative,
            error: anyhow!(
                "{} settings are not as the plan says, nothing was changed; plan again",
                moved.len()
            ),
        });
    }
    if let Some(plan) = &args.measure {
        return measure::run(&mut work, args, plan, &advice, &changes);
    }
    let peer = args.ask.peer.or(advice.peer);
    let (id, file) = open(&mut work, &changes, args.confirm_within, peer)?;
    keep(&mut work, id, file, &changes, args.confirm_within)?;
    tell(&work, id, &changes, args)
}

/// Begins a transaction under a guard and makes all changes. When that fails, or `peer` does not
/// answer packets of a larger MTU, everything is as it was. Until [`keep`] the guard undoes it as soon as this process ends.
pub fn open(
    work: &mut Work,
    changes: &[&Change],
    within: Duration,
    peer: Option<IpAddr>,
) -> Result<(u32, JournalFile), Failure> {
    let path = PathCheck::before(peer, changes)?;
    let ids = work.state.ids().map_err(Failure::environment)?;
    let id = ids.last().map_or(1, |last| last + 1);
    let mut file = work.state.create(id).map_err(Failure::environment)?;
    begin(work, &mut file, id, within)?;
    if let Err(failure) = guard(work.state.path(), id) {
        // Without a guard nothing is changed; the journal says that nothing was.
        file.append(&Event::RolledBack)
            .map_err(Failure::environment)?;
        return Err(failure);
    }
    match transaction::write_all(&work.knobs, &mut file, changes) {
        Ok(()) => {}
        Err(stop) => return Err(give_up(work, file, id, changes, stop)),
    }
    match path.map_or(Ok(()), |path| path.after()) {
        Ok(()) => Ok((id, file)),
        Err(why) => {
            let stop = Stop::Setting(why, Need::Nothing);
            Err(give_up(work, file, id, changes, stop))
        }
    }
}

/// From now on the transaction waits for its confirmation. When that cannot be written down
/// everything is as it was.
pub fn keep(
    work: &mut Work,
    id: u32,
    mut file: JournalFile,
    changes: &[&Change],
    within: Duration,
) -> Result<(), Failure> {
    let deadline_s = (since_boot() + within).as_secs_f64();
    file.append(&Event::Applied { deadline_s })
        .map_err(|error| give_up(work, file, id, changes, Stop::Journal(error)))
}

/// One transaction waits at a time: the next one's old values would be the first one's new ones.
fn refuse_second(work: &Work) -> Result<(), Failure> {
    for id in work.state.ids().map_err(Failure::environment)? {
        let phase = work.state.read(id).map_err(Failure::environment)?.phase();
        if matches!(
            phase,
            Phase::Unconfirmed { .. } | Phase::Applying | Phase::Undoing
        ) {
            return Err(Failure::usage(anyhow!(
                "transaction {id} is not finished; run nicety tune confirm {id} or nicety tune rollback {id} first"
            )));
        }
    }
    Ok(())
}

fn begin(work: &Work, file: &mut JournalFile, id: u32, within: Duration) -> Result<(), Failure> {
    let event = Event::Begin {
        schema: SCHEMA,
        id,
        boot_id: work.boot_id.clone(),
        netns: work.knobs.namespace(),
        confirm_within_s: within.as_secs_f64(),
    };
    file.append(&event).map_err(Failure::environment)
}

/// Starts the process that undoes the transaction; it outlives this one and the terminal.
/// Returns when it is ready: before that nothing may be changed.
fn guard(state: &Path, id: u32) -> Result<(), Failure> {
    let start = || -> anyhow::Result<()> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .args(["tune", "guard", "--state"])
            .arg(state)
            .arg(id.to_string())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the guard")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .context("cannot hear the guard")?;
        }
        match line.trim() {
            super::guard::READY => Ok(()),
            _ => Err(anyhow!(
                "the guard that would undo the changes did not start; nothing was changed"
            )),
        }
    };
    start().map_err(Failure::environment)
}

/// Undoes what was written.
fn give_up(
    work: &mut Work,
    mut file: JournalFile,
    id: u32,
    changes: &[&Change],
    stop: Stop,
) -> Failure {
    let (error, exit) = match stop {
        Stop::Setting(error, Need::Root) => (error, Exit::Environment),
        Stop::Setting(error, Need::Nothing) => (error, Exit::Negative),
        Stop::Journal(error) => (error.into(), Exit::Environment),
    };
    // As the journal has it; when it cannot be read any more, as it was planned.
    let journal = work.state.read(id).unwrap_or_else(|_| {
        let intents = changes.iter().map(|change| Event::Intent {
            change: (*change).clone(),
        });
        nicety_model::journal::Journal {
            events: intents.collect(),
        }
    });
    let undone = transaction::undo(&work.knobs, &journal, &mut file, &error.to_string(), false);
    let told = match undone {
        Ok(outcomes) => format!("everything is as it was{}", report::outcomes(&outcomes)),
        Err(journal) => format!("the settings were put back, but {journal}"),
    };
    Failure {
        exit,
        error: anyhow!("{error}; {told}"),
    }
}

pub fn tell(work: &Work, id: u32, changes: &[&Change], args: &ApplyArgs) -> Result<Exit, Failure> {
    let seconds = args.confirm_within.as_secs_f64();
    let state = match &args.state {
        Some(_) => format!(" --state {}", work.state.path().display()),
        None => String::new(),
    };
    if args.json {
        let journal = work.state.read(id).map_err(Failure::environment)?;
        super::print_json(&report::transaction(id, &journal))?;
    } else {
        let lines = changes
            .iter()
            .map(|c| format!("{}: {} → {}\n", c.knob, c.from, c.to));
        plan::print(&lines.collect::<String>())?;
    }
    output::say(&format!(
        "transaction {id}: {} settings changed; they go back in {seconds} s unless you run: nicety tune confirm {id}{state}",
        changes.len()
    ));
    Ok(Exit::Done)
}

/// A plan that `nicety tune plan --json` wrote, in this boot where one is given.
pub fn read_plan(
    path: &Path,
    ask: &crate::cli::tune::Ask,
    boot_id: Option<&str>,
) -> Result<Advice, Failure> {
    let shown = path.display();
    let size = std::fs::metadata(path).map(|file| file.len());
    let text = match size {
        Ok(size) if size > LARGEST_PLAN => Err(anyhow!("{shown} is no plan: {size} bytes")),
        Ok(_) => {
            std::fs::read_to_string(path).map_err(|error| anyhow!("cannot read {shown}: {error}"))
        }
        Err(error) => Err(anyhow!("cannot read {shown}: {error}")),
    };
    let text = text.map_err(Failure::usage)?;
    let mut advice: Advice = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(anyhow!(
            "{shown} is no plan ({error}); write one with nicety tune plan --json"
        ))
    })?;
    if advice.schema > SCHEMA {
        return Err(Failure::usage(anyhow!(
            "{shown} is of a newer nicety; plan again"
        )));
    }
    if boot_id.is_some() && advice.boot_id.as_deref() != boot_id {
        return Err(Failure::usage(anyhow!(
            "{shown} was made on another host or before the last boot; plan again"
        )));
    }
    if let Some(change) = advice.changes().iter().find(|c| c.knob.outlives_boot()) {
        return Err(Failure::usage(anyhow!(
            "{shown} changes the file {}, which no plan does; plan again",
            change.knob
        )));
    }
    plan::only(&mut advice, ask);
    Ok(advice)
}
