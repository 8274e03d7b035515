//! What `docs/reference` says of the codes of notes and problems.

use schemars::JsonSchema;
use serde::Serialize;

use crate::keywords::nearest;
use crate::note::{Code, NotePage};
use crate::problem::{Problem, ProblemCode, ProblemPage};

/// Entry of one code.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PageText {
    /// What it says, in one line.
    pub says: String,
    /// Where it comes from.
    pub cause: String,
    /// What it means for the number, or the command.
    pub effect: String,
    /// What its reader can do.
    pub remedy: String,
}

/// What `nicety explain --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// Schema version.
    pub schema: u32,
    /// Pages of notes: one, none, or those of all codes in order.
    pub notes: Vec<NotePage>,
    /// Pages of problems, in the same way.
    pub problems: Vec<ProblemPage>,
}

/// Meaning of a code or name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A note.
    Note(Code),
    /// A problem.
    Problem(ProblemCode),
}

impl Entry {
    /// Everything that has a code.
    pub fn all() -> impl Iterator<Item = Self> {
        let problems = ProblemCode::ALL.iter().copied();
        Code::all()
            .map(Self::Note)
            .chain(problems.map(Self::Problem))
    }

    /// `N` or `P` and three digits.
    pub fn code(self) -> &'static str {
        match self {
            Self::Note(code) => code.code,
            Self::Problem(code) => code.code(),
        }
    }

    /// Short, lower case, with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note(code) => code.name,
            Self::Problem(code) => code.name(),
        }
    }

    /// The one with this number or name, in any case.
    ///
    /// # Errors
    /// When there is none: the nearest name, or how to list all.
    pub fn of(word: &str) -> Result<Self, Problem> {
        let is_meant = |entry: &Self| {
            entry.code().eq_ignore_ascii_case(word) || entry.name().eq_ignore_ascii_case(word)
        };
        Self::all().find(is_meant).ok_or_else(|| {
            let remedy = match nearest(&word.to_lowercase(), Self::all().map(Self::name)) {
                Some(near) => format!("did you mean {near}?"),
                None => "nicety explain lists all".to_owned(),
            };
            let what = format!("no note or problem has the code or name {word:?}");
            Problem::value(what, remedy)
        })
    }
}

/// The sections of a document: what stands behind `### `, and below it a paragraph, and one each that
/// begins with `**Cause.**`, `**Effect.**` and `**What to do.**`. Sections that lack a part are left out.
pub(crate) fn sections(document: &str) -> impl Iterator<Item = (&str, PageText)> {
    let sections = document.split("\n### ").skip(1);
    sections.filter_map(section)
}

fn section(section: &str) -> Option<(&str, PageText)> {
    let (heading, body) = section.split_once('\n')?;
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
    let text = PageText {
        says: paragraphs.first()?.clone(),
        cause: part("**Cause.**")?,
        effect: part("**Effect.**")?,
        remedy: part("**What to do.**")?,
    };
    Some((heading.trim_end(), text))
}
