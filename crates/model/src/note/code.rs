//! Codes: which kind of note it is, for programs and for whoever looks it up.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// What a note does to the number it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The number stands; the note says how it was made.
    Info,
    /// The number stands, but means something else or less than it seems to.
    Caution,
    /// The number is missing, or may be wrong.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Caution => "caution",
            Self::Warning => "warning",
        })
    }
}

/// A kind of note. Numbers and names stay for ever: a kind that goes leaves its number unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// `N` and three digits.
    pub code: &'static str,
    /// Short, lower case, with hyphens.
    pub name: &'static str,
    /// What it does to the number.
    pub severity: Severity,
}

/// Sentences that have no code of their own.
pub const RECORDED: Code = Code {
    code: "N000",
    name: "recorded",
    severity: Severity::Info,
};

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.name)
    }
}
