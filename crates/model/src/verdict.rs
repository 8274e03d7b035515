//! What a number is worth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Verdict of a result; every number shown carries one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Measured, and nothing speaks against it.
    Ok,
    /// The tester could not load the path harder: the path carries at least this much.
    TesterLimited,
    /// A number whose interval is wide: the machine did not allow a closer one.
    Wide,
    /// The sender missed its schedule; the load was not what was intended.
    Late,
    /// The confirm trial disagrees with the search, or the visits contradict each other.
    Unstable,
    /// The path ran in the sender's context: this is sender and path together.
    Coupled,
    /// Stolen CPU time or a drifting control cell: the machine was not quiet.
    Noisy,
    /// No result; the notes say why.
    Failed,
}

impl Verdict {
    /// Every verdict, best first.
    pub const ALL: [Self; 8] = [
        Self::Ok,
        Self::TesterLimited,
        Self::Wide,
        Self::Late,
        Self::Unstable,
        Self::Coupled,
        Self::Noisy,
        Self::Failed,
    ];

    /// The verdict of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.word() == word)
    }

    /// Whether the number is the path's own, within an interval that may be wide: only such
    /// numbers are compared and followed.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Ok | Self::Wide)
    }

    /// The word used in tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::TesterLimited => "tester-limited",
            Self::Wide => "wide",
            Self::Late => "late",
            Self::Unstable => "unstable",
            Self::Coupled => "coupled",
            Self::Noisy => "noisy",
            Self::Failed => "failed",
        }
    }

    /// One sentence for a reader who sees the word for the first time.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "The path's own limit was found and confirmed.",
            Self::TesterLimited => {
                "The tester ran out before the path did: the path carries at least this much."
            }
            Self::Wide => {
                "The number holds within its interval, which is wider than 5 %: the machine was busy."
            }
            Self::Late => "The sender missed its schedule, so the load was not the intended one.",
            Self::Unstable => {
                "Measurements of the same path contradict each other; the notes say which."
            }
            Self::Coupled => {
                "The path ran inside the sender's own system calls: the number is sender and path together."
            }
            Self::Noisy => {
                "The machine was not quiet: CPU time was stolen, or the control cell drifted."
            }
            Self::Failed => "No result; the notes say why.",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
