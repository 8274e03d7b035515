//! What a machine, its kernel and a user can do, as `nicety probe` prints it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What `nicety probe` prints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// Schema version.
    pub schema: u32,
    /// Version of nicety.
    pub nicety: String,
    /// Kernel release.
    pub kernel: String,
    /// What the process may do: `root`, `user namespace` or `ordinary user`.
    pub user: String,
    /// One by one.
    pub abilities: Vec<Ability>,
}

/// What an ability belongs to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Area {
    /// What sends and counts frames.
    Engine,
    /// What can be measured.
    Path,
    /// Virtual machines.
    Guest,
    /// Interfaces that exist.
    Interface,
    /// The jobs beside measuring.
    Job,
}

impl Area {
    /// All, in the order of printing.
    pub const ALL: [Self; 5] = [
        Self::Engine,
        Self::Path,
        Self::Guest,
        Self::Interface,
        Self::Job,
    ];

    /// Heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Engine => "engines",
            Self::Path => "paths",
            Self::Guest => "guests",
            Self::Interface => "interfaces",
            Self::Job => "jobs",
        }
    }
}

/// Whether it can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It was tried and works, or is there.
    Yes,
    /// With a restriction that the finding names.
    Partly,
    /// No.
    No,
    /// It was not tried.
    Unknown,
}

impl Answer {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
            Self::Unknown => "not tried",
        }
    }
}

/// Something that nicety could use.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ability {
    /// What it belongs to.
    pub area: Area,
    /// Name, as plans and options write it where they do.
    pub name: String,
    /// Whether it can be done.
    pub answer: Answer,
    /// What was seen.
    pub finding: String,
    /// What is lost without it.
    pub costs: Option<String>,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Ability {
    /// An ability with an answer and what was seen.
    pub fn new(
        area: Area,
        name: impl Into<String>,
        answer: Answer,
        finding: impl Into<String>,
    ) -> Self {
        Self {
            area,
            name: name.into(),
            answer,
            finding: finding.into(),
            costs: None,
            remedy: None,
        }
    }

    /// Says what is lost without it.
    #[must_use]
    pub fn costs(mut self, what: impl Into<String>) -> Self {
        self.costs = Some(what.into());
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn remedy(mut self, what: impl Into<String>) -> Self {
        self.remedy = Some(what.into());
        self
    }
}
