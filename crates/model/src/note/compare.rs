//! Notes on runs beside each other.

use super::words::joined;

notes! {
    /// Runs beside each other.
    CompareNote {
        "N160" "estimators-differ" Caution
        EstimatorsDiffer { old: Vec<String>, new: Vec<String> }
            => ("estimator: {} before, {} now; their numbers differ by method and do not compare more closely \
                 than 5 %", joined(old, " | "), joined(new, " | ")),

        "N161" "one-run-each" Caution
        OneRunEach
            => ("repeats of one run share the state of the machine: the intervals do not know how much runs \
                 differ") + "two or more runs on each side would",

        "N162" "borrowed-spread" Caution
        BorrowedSpread { rows: usize, all: usize }
            => ("{rows} of {all} rows have a single number on a side: their spread is that of the control cell's \
                 visits, which is a guess for other cells"),

        "N163" "incomplete" Caution
        Incomplete { source: String, left_out: Option<usize> }
            => ("{source} is not complete: it has {} of its cells", match left_out {
                Some(left_out) => format!("all but {left_out}"),
                None => "some".to_owned(),
            }),

        "N164" "others-left-out" Info
        OthersLeftOut { runs: usize }
            => ("left out: {runs} of other presets or loss goals"),

        "N165" "few-runs" Caution
        FewRuns { runs: usize, needed: usize }
            => ("{runs} runs with the verdict ok or wide: fewer than {needed} cannot show a change"),
    }
}
