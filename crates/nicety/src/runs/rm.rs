//! Forgetting runs.

use std::time::SystemTime;

use nicety_history::{History, outdated};
use nicety_report::plural;

use crate::cli::runs::RmArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Forgets what the options let go, and says what.
pub fn run(store: &mut History, args: &RmArgs) -> Result<Exit, Failure> {
    let runs = store.list()?;
    let now = SystemTime::now();
    let before = args
        .older_than
        .map(|age| nicety_store::rfc3339(now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH)));
    let keep = args.keep.unwrap_or(0);
    let gone = match args.runs.as_slice() {
        [] => outdated(&runs, keep, before.as_deref(), args.force),
        named => named.to_vec(),
    };
    if !args.dry_run && !gone.is_empty() {
        store.remove(&gone)?;
    }
    for run in runs.iter().filter(|run| gone.contains(&run.id)) {
        output::say(&format!("run {}: {} {}", run.id, run.started, run.name));
    }
    let done = if args.dry_run {
        "would be forgotten"
    } else {
        "forgotten"
    };
    output::say(&format!(
        "{} of {} {done}",
        gone.len(),
        plural(runs.len(), "run")
    ));
    Ok(Exit::Done)
}
