//! A word that says what something is worth.

use nicety_model::Verdict;

/// What a badge's word means for the reader; colour only helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    /// Good, and nothing happened.
    Same,
    Info,
    Warn,
    Fail,
}

impl Tone {
    /// Class in the style sheet of pages.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Same | Self::Info => "info",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    /// ANSI style.
    pub(crate) fn colour(self) -> &'static str {
        match self {
            Self::Good | Self::Same => "32",
            Self::Info | Self::Warn => "33",
            Self::Fail => "31",
        }
    }
}

/// A word with its tone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Badge {
    pub(crate) word: &'static str,
    pub(crate) tone: Tone,
    /// A sentence for who sees the word for the first time; may be empty.
    pub(crate) meaning: &'static str,
    /// Whether Markdown sets it in bold.
    pub(crate) loud: bool,
}

impl Badge {
    pub(crate) fn new(word: &'static str, tone: Tone) -> Self {
        Self {
            word,
            tone,
            meaning: "",
            loud: false,
        }
    }
}

impl From<Verdict> for Badge {
    fn from(verdict: Verdict) -> Self {
        let tone = match verdict {
            Verdict::Ok => Tone::Good,
            Verdict::TesterLimited => Tone::Info,
            Verdict::Failed => Tone::Fail,
            _ => Tone::Warn,
        };
        Self {
            meaning: verdict.meaning(),
            ..Self::new(verdict.word(), tone)
        }
    }
}
