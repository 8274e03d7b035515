//! Which runs may be forgotten.

use std::collections::HashMap;

use nicety_model::history::KeptRun;

/// Numbers of the runs to forget: not among the newest `keep` of their name, started before
/// `before`, and without labels unless `labelled`. `runs` are newest first; times compare as
/// text because all are UTC in one format.
pub fn outdated(runs: &[KeptRun], keep: usize, before: Option<&str>, labelled: bool) -> Vec<i64> {
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
