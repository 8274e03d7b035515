//! What there is to say of codes: of notes and problems as `docs/reference` has it, of rules as they have it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::finding::RuleReport;
use crate::keywords::nearest;
use crate::note::NotePage;
use crate::problem::{Problem, ProblemPage};

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
    /// Rules of `nicety tune plan`, in the same way.
    pub rules: Vec<RuleReport>,
}

impl Explained {
    /// What a word means: a code, a name, or the letter of a kind of codes, in any case.
    ///
    /// # Errors
    /// When it means nothing: the nearest name, or how to list all.
    pub fn meant(self, word: &str) -> Result<Self, Problem> {
        let remedy = match nearest(&word.to_lowercase(), self.entries().map(|(_, name)| name)) {
            Some(near) => format!("did you mean {near}?"),
            None => "nicety explain lists all".to_owned(),
        };
        let is_meant = |code: &str, name: &str| {
            let mut words = [code, name, &code[..1]].into_iter();
            words.any(|known| known.eq_ignore_ascii_case(word))
        };
        let mut found = self;
        found.notes.retain(|page| is_meant(page.code, page.name));
        found
            .problems
            .retain(|page| is_meant(page.code.code(), page.name));
        found.rules.retain(|rule| is_meant(&rule.id, &rule.name));
        if found.entries().next().is_some() {
            return Ok(found);
        }
        let what = format!("no note, problem or rule has the code or name {word:?}");
        Err(Problem::value(what, remedy))
    }

    /// Code and name of each.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let notes = self.notes.iter().map(|page| (page.code, page.name));
        let problems = self.problems.iter();
        let problems = problems.map(|page| (page.code.code(), page.name));
        let rules = self.rules.iter();
        let rules = rules.map(|rule| (rule.id.as_str(), rule.name.as_str()));
        notes.chain(problems).chain(rules)
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
