//! Forgetting old runs.

use std::collections::HashMap;
use std::time::SystemTime;

use nicety_history::History;
use nicety_model::history::KeptRun;

use crate::cli::runs::PruneArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Forgets what the options let go, and says what.
pub fn run(store: &mut dyn History, args: &PruneArgs) -> Result<Exit, Failure> {
    let runs = store.list()?;
    let now = SystemTime::now();
    let before = args
        .older_than
        .map(|age| nicety_store::rfc3339(now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH)));
    let gone = chosen(
        &runs,
        args.keep.unwrap_or(0),
        before.as_deref(),
        args.labelled,
    );
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
    output::say(&format!("{} of {} runs {done}", gone.len(), runs.len()));
    Ok(Exit::Done)
}

/// Numbers of the runs to forget: not among the newest `keep` of their name, started before
/// `before`, and without labels unless `labelled`. `runs` are newest first; times compare as
/// text because all are UTC in one format.
fn chosen(runs: &[KeptRun], keep: usize, before: Option<&str>, labelled: bool) -> Vec<i64> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    runs.iter()
        .filter(|run| {
            let place = seen.entry(&run.name).or_default();
            *place += 1;
            *place > keep
                && before.is_none_or(|before| run.started.as_str() < before)
                && (labelled || run.labels.is_empty())
        })
        .map(|run| run.id)
        .collect()
}
