//! What `docs/reference/problems.md` says of each kind of problem.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ProblemCode, ProblemKind};
use crate::reference::{PageText, sections};

/// The page of one kind of problem.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProblemPage {
    /// `P` and three digits.
    pub code: ProblemCode,
    /// Short, lower case, with hyphens.
    pub name: &'static str,
    /// What it asks of its reader.
    pub kind: ProblemKind,
    /// What the page says.
    #[serde(flatten)]
    pub text: PageText,
}

/// The pages in a document, as [`note::pages`](crate::note::pages).
pub fn pages(document: &str) -> Vec<ProblemPage> {
    let page = |(heading, text): (&str, PageText)| {
        let mut codes = ProblemCode::ALL.iter().copied();
        let code = codes.find(|code| code.to_string() == heading)?;
        Some(ProblemPage {
            code,
            name: code.name(),
            kind: code.kind(),
            text,
        })
    };
    sections(document).filter_map(page).collect()
}
