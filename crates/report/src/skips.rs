//! Cells without a result: what this machine cannot build, and what was left out.

use nicety_model::Run;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::run::StoppedBy;

use crate::number;
use crate::pick;

/// Heading of the [`lines`].
pub(crate) const TITLE: &str = "Skipped: this machine cannot build them";

/// Every reason once, with the cells that it rules out: `CELLS: REASON; REMEDY`.
pub fn lines(run: &Run) -> Vec<String> {
    let planned = run.cells.len() + run.skipped.len() + run.left_out.len();
    let skipped = run.skipped.iter().map(|skipped| {
        let reason = format!("{}; {}", skipped.reason, skipped.remedy);
        (reason, skipped.cell.as_str())
    });
    let reasons = pick::together(skipped).into_iter();
    reasons
        .map(|(reason, cells)| format!("{}: {reason}", named(&cells, planned)))
        .collect()
}

/// Cells in few words, of so many in the plan: `bridge/64/uni`, `all 7 cells`, or the first few.
pub fn named(cells: &[&str], planned: usize) -> String {
    match cells.len() {
        one if one > 1 && one == planned => format!("all {}", number::plural(one, "cell")),
        _ => pick::named(cells),
    }
}

/// What was left out in few words: the repeats of a cell together, as in `bridge/64/uni (repeats 2-5)`.
pub fn left_out_cells(run: &Run) -> Vec<String> {
    let repeat = |text: &str| -> Option<(String, u32)> {
        let (cell, number) = text.rsplit_once(" repeat ")?;
        Some((cell.to_owned(), number.parse().ok()?))
    };
    let named = run.left_out.iter();
    let named = named.map(|text| match repeat(text) {
        Some((cell, number)) => (cell, Some(number)),
        None => (text.clone(), None),
    });
    let cells = pick::together(named).into_iter();
    cells
        .map(|(cell, repeats)| {
            let repeats: Vec<u32> = repeats.into_iter().flatten().collect();
            match repeats.as_slice() {
                [] => cell,
                [one] => format!("{cell} (repeat {one})"),
                many => format!("{cell} (repeats {})", format_cpu_list(many)),
            }
        })
        .collect()
}

/// How many measurements were left out, those that have no name in the run included.
pub(crate) fn left_out_count(run: &Run) -> usize {
    let more = run.left_out.last().and_then(|last| {
        let number = last.strip_prefix("and ")?.strip_suffix(" more")?;
        number.parse::<usize>().ok()
    });
    match more {
        Some(more) => run.left_out.len() - 1 + more,
        None => run.left_out.len(),
    }
}

/// Title over the cells that were left out.
pub fn left_out(run: &Run) -> &'static str {
    match run.run.stopped_by {
        Some(StoppedBy::Interruption) => "Left out: the run was interrupted",
        Some(StoppedBy::TimeBox) => "Left out: the time box was too short",
        None => "Left out by the time box or an interruption",
    }
}

/// Why there is no result at all, in sentences.
pub fn without_result(run: &Run) -> String {
    let cannot = || {
        let cells = number::plural(run.skipped.len(), "cell");
        format!("This machine cannot build {cells}.")
    };
    let stopped = match run.run.stopped_by {
        Some(StoppedBy::Interruption) => Some("Interrupted before the first result."),
        Some(StoppedBy::TimeBox) => Some("The time box ended before the first result."),
        // A killed or an older run: it does not say which of the two it was.
        None if !run.left_out.is_empty() => {
            Some("The run was interrupted, or its time box ended, before the first result.")
        }
        None => None,
    };
    match (stopped, run.skipped.is_empty()) {
        (None, true) => "Nothing was measured.".to_owned(),
        (None, false) => format!("Nothing was measured. {}", cannot()),
        (Some(stopped), true) => stopped.to_owned(),
        (Some(stopped), false) => format!("{stopped} {}", cannot()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_without(left_out: &[&str]) -> Run {
        let head = serde_json::json!({
            "name": "x", "started": "", "elapsed_s": 1.0, "seed": 1, "preset": "robust", "loss_goal": 0.0,
            "command": "", "complete": false, "host": nicety_model::Fingerprint::default(),
        });
        let run = serde_json::json!({
            "schema": 1, "tester_limit_fps": {}, "visits": [], "run": head, "cells": [],
            "left_out": left_out,
        });
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn repeats_that_were_left_out_stand_together() {
        let run = run_without(&[
            "a/64/uni repeat 2",
            "a/64/uni repeat 3",
            "a/64/uni repeat 5",
            "b/64/uni repeat 1",
            "c/64/uni",
            "and 12 more",
        ]);
        assert_eq!(
            left_out_cells(&run),
            [
                "a/64/uni (repeats 2-3,5)",
                "b/64/uni (repeat 1)",
                "c/64/uni",
                "and 12 more"
            ]
        );
        assert_eq!(left_out_count(&run), 17);
        assert_eq!(left_out_count(&run_without(&["a/64/uni"])), 1);
    }

    #[test]
    fn cells_of_one_reason_are_named_in_few_words() {
        let cells = ["a/64/uni", "b/64/uni", "c/64/uni", "d/64/uni"];
        for (cells, planned, text) in [
            (&cells[..1], 1, "a/64/uni"),
            (&cells[..1], 4, "a/64/uni"),
            (&cells[..2], 4, "a/64/uni, b/64/uni"),
            (&cells[..], 9, "a/64/uni, b/64/uni, c/64/uni and 1 more"),
            (&cells[..], 4, "all 4 cells"),
        ] {
            assert_eq!(named(cells, planned), text);
        }
    }
}
