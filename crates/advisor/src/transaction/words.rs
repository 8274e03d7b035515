//! What became of settings, in words.

use nicety_model::journal::{Outcome, Step, TransactionReport};

use super::PassedOver;

/// What was left, for the end of a sentence; nothing when all is as it was.
pub fn left(outcomes: &[(Step, Outcome)]) -> String {
    let left = outcomes
        .iter()
        .filter_map(|(step, found)| outcome(&step.change.knob.to_string(), found));
    left.map(|words| format!("; {words}")).collect()
}

/// Why a transaction is passed over when none is named, and how it is undone all the same.
pub fn passed_over(id: u32, why: PassedOver) -> String {
    match why {
        PassedOver::Namespace(netns) => format!(
            "skipped transaction {id}: it changed another network namespace (inode {netns}); \
             undo it there with nicety tune undo {id}"
        ),
        PassedOver::Removal => format!(
            "skipped transaction {id}: it removed kept files; nicety tune undo {id} brings \
             them back"
        ),
    }
}

/// What became of a setting that has not its old value.
pub fn outcome(knob: &str, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Restored | Outcome::Untouched => None,
        Outcome::Foreign { found } => Some(format!(
            "somebody else changed {knob}{}, so it stays (--force overwrites it)",
            // The text of a file is no word for a line.
            if found.contains('\n') {
                String::new()
            } else {
                format!(" to {found}")
            }
        )),
        Outcome::Gone => Some(format!("{knob} is gone")),
        Outcome::Failed { why } => Some(format!("{knob} could not be restored: {why}")),
    }
}

/// A transaction, and a line of each of its settings.
pub fn history(report: &TransactionReport) -> String {
    let why = report
        .why_undone
        .as_deref()
        .map(|why| format!(" ({why})"))
        .unwrap_or_default();
    let mut text = format!("{} {}{why}\n", report.transaction, report.phase);
    if let (Some(time), Some(user), Some(command)) = (&report.time, &report.user, &report.command) {
        text += &format!("    {time}, {user}: nicety {command}\n");
    }
    for setting in &report.settings {
        let knob = &setting.knob;
        let (from, to) = (knob.brief(&setting.from), knob.brief(&setting.to));
        let left = setting.outcome.as_ref();
        let left = left.and_then(|left| outcome("it", left));
        let left = left.map(|words| format!("; {words}")).unwrap_or_default();
        text += &format!("    {knob}: {from} → {to}{left}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use nicety_model::knob::Knob;

    use super::*;

    #[test]
    fn only_what_has_not_its_old_value_is_named() {
        let step = |name| Step {
            change: crate::draft::change(Knob::sysctl(name), "1", "2"),
            found: None,
        };
        let foreign = |found: &str| Outcome::Foreign {
            found: found.to_owned(),
        };
        assert_eq!(left(&[(step("a"), Outcome::Restored)]), "");
        assert_eq!(
            left(&[(step("a"), Outcome::Gone), (step("b"), foreign("9"))]),
            "; a is gone; somebody else changed b to 9, so it stays (--force overwrites it)"
        );
        let file = outcome("/etc/x", &foreign("one\ntwo\n"));
        assert!(file.is_some_and(|words| words.starts_with("somebody else changed /etc/x, so")));
    }
}
