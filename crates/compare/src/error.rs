//! Why runs cannot be compared.

/// Runs that are not comparable: what differs, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A side has no result at all.
    #[error("{source_name} has no results to compare; let it finish with --resume")]
    NoResults {
        /// The run.
        source_name: String,
    },
    /// The searches looked for different things.
    #[error(
        "not comparable: {old_source} was searched with {what} {old}, {new_source} with {new}; measure both alike"
    )]
    Search {
        /// What differs: `preset` or `loss goal`.
        what: &'static str,
        /// The first run.
        old_source: String,
        /// Its value.
        old: String,
        /// The run that differs from it.
        new_source: String,
        /// Its value.
        new: String,
    },
    /// No cell is in both.
    #[error("not comparable: no cell is in both, {why}; measure both with the same plan")]
    NothingInCommon {
        /// What differs, in words.
        why: String,
    },
    /// The same run twice on one side would make its repeats look like more than they are.
    #[error("{source_name} is given twice on the {side} side; name every run once")]
    Twice {
        /// The run.
        source_name: String,
        /// `old` or `new`.
        side: &'static str,
    },
    /// A level outside its range.
    #[error("{what} {value} is out of range; {fix}")]
    Level {
        /// `confidence` or `margin`.
        what: &'static str,
        /// What was given.
        value: String,
        /// What to give.
        fix: &'static str,
    },
}
