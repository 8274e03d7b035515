//! `nicety tune boot`: what the boot unit runs. It sets what is not as it is kept.

use std::path::Path;

use anyhow::anyhow;
use nicety_advisor::persist::{self, KEPT};
use nicety_host::facts::Source;
use nicety_model::journal::same_value;
use nicety_model::kept::Kept;
use nicety_model::knob::Change;

use super::commit::commit;
use super::plan;
use super::state::Work;
use crate::cli::tune::BootArgs;
use crate::exit::{Exit, Failure};
use crate::{inspect, output};

/// Largest file of settings, in bytes.
const LARGEST: u64 = 16 << 20;

/// Runs the command.
pub fn run(args: &BootArgs) -> Result<Exit, Failure> {
    let usual = Path::new("/").join(KEPT);
    let path = args.kept.as_deref().unwrap_or(&usual);
    let Some(kept) = read(path)? else {
        return Err(Failure::usage(anyhow!(
            "{} is not there, nothing is kept; nicety tune persist keeps settings",
            path.display()
        )));
    };
    let (settings, mut missing) = persist::resolve(&inspect::read(&Source::live(), None), &kept);
    let work = Work::begin(args.state.as_deref())?;
    let mut changes = Vec::new();
    let all = settings.len();
    for (knob, to) in settings {
        match work.knobs.read(&knob) {
            Ok(from) if same_value(&knob, &from, &to) => {}
            Ok(from) => changes.push(Change { knob, from, to }),
            // One that is missing must not keep the others from being set.
            Err(error) => missing.push(error.to_string()),
        }
    }
    let drift = changes
        .iter()
        .map(|c| format!("{}: {} is kept, {} now\n", c.knob, c.to, c.from));
    plan::print(&drift.collect::<String>())?;
    for line in &missing {
        output::say(line);
    }
    let exit = match missing.is_empty() {
        true => Exit::Done,
        false => Exit::Negative,
    };
    if changes.is_empty() {
        let holding = all - (missing.len().min(all));
        output::say(&format!("{holding} settings hold"));
        return Ok(exit);
    }
    if args.check {
        output::say(&format!(
            "{} of {all} settings are not as they are kept; nicety tune boot sets them",
            changes.len()
        ));
        return Ok(Exit::Negative);
    }
    let id = commit(&work, &changes.iter().collect::<Vec<_>>())?;
    output::say(&format!(
        "transaction {id}: {} settings changed; nicety tune rollback {id} undoes it",
        changes.len()
    ));
    Ok(exit)
}

/// What is kept; `None` when there is no such file.
pub fn read(path: &Path) -> Result<Option<Kept>, Failure> {
    let shown = path.display();
    let text = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Ok(file) if file.len() > LARGEST => Err(anyhow!("{shown} is no list of settings")),
        _ => std::fs::read_to_string(path).map_err(|e| anyhow!("cannot read {shown}: {e}")),
    };
    let kept: Kept = serde_json::from_str(&text.map_err(Failure::usage)?).map_err(|error| {
        Failure::usage(anyhow!(
            "{shown} is not what nicety wrote there ({error}); nicety tune persist --remove takes it away"
        ))
    })?;
    if kept.schema > nicety_model::SCHEMA {
        return Err(Failure::usage(anyhow!(
            "{shown} is of a newer nicety; use that one"
        )));
    }
    Ok(Some(kept))
}
