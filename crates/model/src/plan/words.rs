//! The words of a plan, and the nearest one to a word nobody knows.

use std::str::FromStr;

use crate::frame::Direction;
use crate::plan::Preset;

impl Preset {
    /// All presets, fastest first.
    pub const ALL: [Self; 6] = [
        Self::Quick,
        Self::Robust,
        Self::Binary,
        Self::Std,
        Self::Csit,
        Self::Rfc2544,
    ];

    /// The word used in plans, on the command line and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Quick => "quick",
            Self::Robust => "robust",
            Self::Std => "std",
            Self::Csit => "csit",
            Self::Rfc2544 => "rfc2544",
        }
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.word() == word)
            .ok_or_else(|| UnknownPreset {
                word: word.to_owned(),
                fix: instead(word, &Self::ALL.map(Self::word)),
            })
    }
}

/// A preset nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {word:?}; {fix}")]
pub struct UnknownPreset {
    /// The word as given.
    pub word: String,
    /// What to write instead.
    pub fix: String,
}

/// The directions of a plan.
pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Uni, Direction::Bi];

/// Jaro-Winkler similarity from which a known word counts as the one meant. At 0.8 a missing
/// letter, a swapped pair or a lost plural is found and unrelated words are not.
const NEAR: f64 = 0.8;

/// What to write instead of `word`: the nearest of `known`, or all of them.
pub(super) fn instead(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((similarity, candidate)) if similarity >= NEAR => {
            format!("did you mean \"{candidate}\"?")
        }
        _ => format!("write one of {}", known.join(", ")),
    }
}
