//! What is put back: only what this transaction wrote, and nothing that somebody has set since.

use nicety_model::journal::{Journal, Outcome, Step, same_value};
use nicety_model::knob::Change;

/// What is to be undone, last first; by force also what an earlier attempt left alone.
pub fn steps(journal: &Journal, force: bool) -> Vec<Step> {
    if !force {
        return journal.to_undo();
    }
    let done = |step: &Step| {
        let last = journal.outcome(&step.change.knob);
        matches!(last, Some(Outcome::Restored | Outcome::Untouched))
    };
    let mut steps = journal.steps();
    steps.retain(|step| !done(step));
    steps.reverse();
    steps
}

/// What is to be done to a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restore {
    /// It has its old value already.
    Untouched,
    /// Somebody else has changed it since: it is left alone.
    Foreign,
    /// The old value is to be written.
    Write,
}

/// What is to be done to a setting that has the value `found` now.
pub fn restore(step: &Step, found: &str, force: bool) -> Restore {
    let Change { knob, from, to } = &step.change;
    let has = |value: &str| same_value(knob, found, value);
    // A write that was not read back may have left what the kernel made of it: only the value
    // asked for is known to be ours then.
    let ours = step.found.as_deref().unwrap_or(to);
    if has(from) {
        Restore::Untouched
    } else if force || has(ours) || has(to) {
        Restore::Write
    } else {
        Restore::Foreign
    }
}

/// What became of a setting whose old value was written and that has the value `now`.
pub fn restored(change: &Change, now: &str) -> Outcome {
    let Change { knob, from, .. } = change;
    if same_value(knob, now, from) {
        Outcome::Restored
    } else {
        Outcome::Failed {
            why: format!("{from} was written, the kernel says {now}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::journal::Event;
    use nicety_model::knob::Knob;

    use super::*;
    use crate::draft::change;

    #[test]
    fn only_what_is_ours_is_overwritten_unless_forced() {
        use Restore::{Foreign, Untouched, Write};
        for (read_back, found, force, expected) in [
            (Some("2"), "1", false, Untouched),
            (Some("2"), " 1\n", true, Untouched),
            (Some("2"), "2", false, Write),
            // The kernel rounded what was written.
            (Some("3"), "3", false, Write),
            (Some("3"), "2", false, Write),
            (None, "2", false, Write),
            (None, "3", false, Foreign),
            (Some("2"), "9", false, Foreign),
            (Some("2"), "9", true, Write),
        ] {
            let step = Step {
                change: change(Knob::sysctl("a"), "1", "2"),
                found: read_back.map(str::to_owned),
            };
            assert_eq!(
                restore(&step, found, force),
                expected,
                "{read_back:?} {found}"
            );
        }
        let change = change(Knob::sysctl("a"), "1", "2");
        assert_eq!(restored(&change, "1"), Outcome::Restored);
        assert!(matches!(restored(&change, "2"), Outcome::Failed { .. }));
    }

    #[test]
    fn force_tries_again_what_was_left_alone() {
        let intent = |name| Event::Intent {
            change: change(Knob::sysctl(name), "1", "2"),
        };
        let undone = |name, outcome| Event::Undone {
            knob: Knob::sysctl(name),
            outcome,
        };
        let foreign = Outcome::Foreign {
            found: "9".to_owned(),
        };
        let journal = Journal {
            events: vec![
                intent("a"),
                intent("b"),
                intent("c"),
                undone("c", Outcome::Restored),
                undone("b", foreign),
                undone("a", Outcome::Gone),
            ],
        };
        let names = |force| -> Vec<String> {
            let steps = steps(&journal, force).into_iter();
            steps.map(|step| step.change.knob.to_string()).collect()
        };
        assert_eq!(names(false), [""; 0]);
        assert_eq!(names(true), ["b", "a"]);
    }
}
