//! The named searches.

use std::str::FromStr;

use crate::keywords::{instead, keywords};

keywords! {
    /// Named searches, see `docs/methodology/search.md`; fastest first.
    Preset {
        /// One visit of `robust`, without a trial of five seconds: a number within seconds, with a wide
        /// interval.
        Quick = "quick",
        /// Loads judged by windows of 50 ms, three visits and more of every cell apart in time: a number with an
        /// interval that holds, also where a hypervisor or other programs take the CPUs now and then.
        Robust = "robust",
        /// Bisection on acceptable loss, as a hardware tester's command sequencer does.
        Binary = "binary",
        /// Width 1 %, eleven one-second trials.
        Std = "std",
        /// Width 0.5 %, twenty-one one-second trials.
        Csit = "csit",
        /// Sixty-second trials, one lossy trial is enough to refuse a load.
        Rfc2544 = "rfc2544",
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::of(word).ok_or_else(|| UnknownPreset {
            word: word.to_owned(),
            fix: instead(word, Self::WORDS),
        })
    }
}

/// An unknown preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {word:?}; {fix}")]
pub struct UnknownPreset {
    /// The word as given.
    pub word: String,
    /// What to write instead.
    pub fix: String,
}
