//! Notes on runs beside each other.

use super::words::joined;

notes! {
    /// Runs beside each other.
    CompareNote {
        "N160" "estimators-differ" Caution Problem
        EstimatorsDiffer { old: Vec<String>, new: Vec<String> }
            => ("The runs judged loads differently: {} before, {} now. Differences below 5 % may come from that.",
                joined(old, " | "), joined(new, " | "))
            + "Repeat the older run with this version.",

        "N161" "one-run-each" Caution Problem
        OneRunEach
            => ("Each side is one run. Repeats within a run share the state of the machine, so the intervals do \
                 not show how much runs differ.")
            + "Compare two or more runs on each side.",

        "N162" "borrowed-spread" Caution Problem
        BorrowedSpread { rows: usize, all: usize }
            => ("{rows} of {all} rows have one number on a side. Their spread is borrowed from the control result, \
                 so their judgement is a guess.")
            + "Measure with repeats.",

        "N163" "incomplete" Caution Problem
        Incomplete { source: String, left_out: Option<usize> }
            => ("{source} is incomplete: {}.", match left_out {
                Some(1) => "1 result is missing".to_owned(),
                Some(left_out) => format!("{left_out} results are missing"),
                None => "some results are missing".to_owned(),
            }) + "Finish it with --resume.",

        "N164" "others-left-out" Info Condition
        OthersLeftOut { runs: usize }
            => ("{} left out: another preset or loss goal.", match runs {
                1 => "1 run is".to_owned(),
                runs => format!("{runs} runs are"),
            }),

        "N165" "few-runs" Caution Problem
        FewRuns { runs: usize, needed: usize }
            => ("Only {runs} runs have the verdict ok or wide. A change shows from {needed} on.")
            + "Add runs.",
    }
}
