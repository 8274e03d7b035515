//! What `docs/reference/notes.md` says of each kind of note.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Code, Severity};

/// The page of one kind of note.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NotePage {
    /// `N` and three digits.
    pub code: &'static str,
    /// Short, lower case, with hyphens.
    pub name: &'static str,
    /// What the note does to the number.
    pub severity: Severity,
    /// What it says, in one line.
    pub says: String,
    /// Where it comes from.
    pub cause: String,
    /// What it means for the number.
    pub effect: String,
    /// What its reader can do.
    pub remedy: String,
}

/// What `nicety explain --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// Schema version.
    pub schema: u32,
    /// One page, or those of all codes in order.
    pub notes: Vec<NotePage>,
}

/// The pages in a document: below a heading `### N014 rests` a paragraph, and one each that begins with
/// `**Cause.**`, `**Effect.**` and `**What to do.**`. Headings of other words, and pages that lack a
/// part, are left out.
pub fn pages(document: &str) -> Vec<NotePage> {
    let sections = document.split("\n### ").skip(1);
    sections.filter_map(page).collect()
}

fn page(section: &str) -> Option<NotePage> {
    let (heading, body) = section.split_once('\n')?;
    let code = Code::all().find(|code| code.to_string() == heading.trim_end())?;
    let body = body.split("\n## ").next().unwrap_or(body);
    let paragraphs = body.split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let paragraphs: Vec<String> = paragraphs.filter(|text| !text.is_empty()).collect();
    let part = |name: &str| {
        let mut texts = paragraphs.iter();
        texts.find_map(|text| text.strip_prefix(name).map(|rest| rest.trim().to_owned()))
    };
    Some(NotePage {
        code: code.code,
        name: code.name,
        severity: code.severity,
        says: paragraphs.first()?.clone(),
        cause: part("**Cause.**")?,
        effect: part("**Effect.**")?,
        remedy: part("**What to do.**")?,
    })
}
