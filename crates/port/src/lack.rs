//! What an engine lacks.

use std::fmt;

/// What an engine lacks that somebody can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// clang and its headers when nicety was built.
    Build,
    /// The rights of root.
    Root,
    /// This module of the kernel.
    Module(&'static str),
    /// A kernel of this version.
    Linux(&'static str),
}

/// Why an engine cannot be had, in words, and what it lacks where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// The reason, and what to do.
    pub words: String,
    /// What is lacking.
    pub lacks: Option<Lack>,
}

impl Why {
    pub(crate) fn lacks(lack: Lack, words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            lacks: Some(lack),
        }
    }
}

impl<S: Into<String>> From<S> for Why {
    fn from(words: S) -> Self {
        Self {
            words: words.into(),
            lacks: None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}
