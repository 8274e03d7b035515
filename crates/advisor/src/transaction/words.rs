//! What became of settings, in words.

use nicety_model::journal::{Outcome, Step};

/// What was left, for the end of a sentence; nothing when all is as it was.
pub fn left(outcomes: &[(Step, Outcome)]) -> String {
    let left = outcomes
        .iter()
        .filter_map(|(step, found)| outcome(&step.change.knob.to_string(), found));
    left.map(|words| format!("; {words}")).collect()
}

/// What became of a setting that has not its old value.
pub fn outcome(knob: &str, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Restored | Outcome::Untouched => None,
        Outcome::Foreign { found } => Some(format!(
            "{knob} was changed{} by somebody else and is left alone (--force overwrites it)",
            // The text of a file is no word for a line.
            if found.contains('\n') {
                String::new()
            } else {
                format!(" to {found}")
            }
        )),
        Outcome::Gone => Some(format!("{knob} is not there any more")),
        Outcome::Failed { why } => Some(format!("{knob} could not be restored: {why}")),
    }
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
            "; a is not there any more; b was changed to 9 by somebody else and is left alone \
             (--force overwrites it)"
        );
        let file = outcome("/etc/x", &foreign("one\ntwo\n"));
        assert!(file.is_some_and(|words| words.starts_with("/etc/x was changed by somebody")));
    }
}
