//! What `docs/reference/notes.md` says of each kind of note.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Code, Severity};
use crate::reference::{PageText, sections};

/// The page of one kind of note.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NotePage {
    /// `N` and three digits.
    pub code: &'static str,
    /// Short, lower case, with hyphens.
    pub name: &'static str,
    /// What the note does to the number.
    pub severity: Severity,
    /// What the page says.
    #[serde(flatten)]
    pub text: PageText,
}

/// The pages in a document, each below a heading `### N014 rests`. Headings of other words, and pages
/// that lack a part, are left out.
pub fn pages(document: &str) -> Vec<NotePage> {
    let page = |(heading, text): (&str, PageText)| {
        let code = Code::all().find(|code| code.to_string() == heading)?;
        Some(NotePage {
            code: code.code,
            name: code.name,
            severity: code.severity,
            text,
        })
    };
    sections(document).filter_map(page).collect()
}
