//! Codes: which kind of note it is, for programs and for whoever looks it up.

crate::keywords::keywords! {
    /// What a note does to the number it belongs to.
    Severity {
        /// The number stands; the note says how it was made.
        Info = "info",
        /// The number stands, but means something else or less than it seems to.
        Caution = "caution",
        /// The number is missing, or may be wrong.
        Warning = "warning",
    }
}

crate::keywords::keywords! {
    /// Which of a report's two lists a note stands in.
    List {
        /// Something to put right: it makes the number worse, wider or absent.
        Problem = "problem",
        /// A fact of the run: somebody who repeats it needs to know it.
        Condition = "condition",
    }
}

/// A kind of note. Numbers and names stay for ever: a kind that goes leaves its number unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, derive_more::Display)]
#[display("{code} {name}")]
pub struct Code {
    /// `N` and three digits.
    pub code: &'static str,
    /// Short, lower case, with hyphens.
    pub name: &'static str,
    /// What it does to the number.
    pub severity: Severity,
    /// Which list of a report it stands in.
    pub list: List,
}

/// Sentences that have no code of their own.
pub const RECORDED: Code = Code {
    code: "N000",
    name: "recorded",
    severity: Severity::Info,
    list: List::Problem,
};
