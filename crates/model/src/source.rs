//! Plans and policies in TOML: read into their types, with the line of every mistake.

mod list;
mod value;

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keywords::instead;
use crate::plan::PlanError;
use crate::problem::Problem;

pub use list::{List, only_list, written_as_list};
pub use value::{Kind, Rate, Raw, Time, Wrong, read_kind};

/// Stands for the key in the texts of [`refuse`].
pub const KEY: &str = "{key}";
/// Stands for the value as it is in the file in the texts of [`refuse`].
pub const VALUE: &str = "{value}";
/// Between both halves of a [`Problem`] in the text of an error of serde.
const HALF: char = '\u{1f}';
/// Longest piece of the source quoted in a message, in characters.
const QUOTE_CHARS: usize = 40;

/// A problem and where in the file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Offset in bytes.
    pub at: usize,
    /// What is wrong and what to do.
    pub problem: Problem,
}

impl Diagnostic {
    /// From the offset and both halves of the problem.
    pub fn new(at: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            at,
            problem: Problem::value(what, remedy),
        }
    }
}

/// A problem as an error of serde, which knows where it is. Both halves may have [`KEY`] and
/// [`VALUE`].
pub fn refuse<E: serde::de::Error>(problem: &Problem) -> E {
    let halves = [Some(&problem.what), problem.remedy.as_ref()];
    let halves = halves.map(|half| half.map(|half| half.replace(HALF, " ")).unwrap_or_default());
    let [what, remedy] = halves;
    E::custom(format_args!("{what}{HALF}{remedy}"))
}

/// The same error at another place than serde's.
fn refuse_at<E: serde::de::Error>(problem: &Problem, span: &Range<usize>) -> E {
    let (what, remedy) = (&problem.what, problem.remedy.as_deref().unwrap_or_default());
    let Range { start, end } = span;
    E::custom(format_args!("{what}{HALF}{remedy}{HALF}{start}{HALF}{end}"))
}

/// A table at the top of a file, which may not stand there as something else: its key, what to write,
/// and what a list without any is answered with, where it is in double brackets.
pub type Top = (&'static str, &'static str, Option<[&'static str; 2]>);

/// What an empty list is answered with.
pub const EMPTY: [&str; 2] = [
    "{key} is an empty list",
    "give it at least one value or remove it",
];

/// A file that is TOML.
pub struct Source<'d> {
    file: &'d str,
    text: &'d str,
    title: &'static str,
    document: Spanned<DeTable<'d>>,
}

impl<'d> Source<'d> {
    /// From the file's name and text; messages call it `title`: `the plan`.
    ///
    /// # Errors
    /// The first place that is no TOML.
    pub fn new(file: &'d str, text: &'d str, title: &'static str) -> Result<Self, PlanError> {
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let what = error.message().lines().collect::<Vec<_>>().join(", ");
            let diagnostic = Diagnostic::new(at, what, "correct the TOML syntax on this line");
            located(file, text, diagnostic)
        })?;
        Ok(Self {
            file,
            text,
            title,
            document,
        })
    }

    /// The document.
    pub fn document(&self) -> &DeTable<'d> {
        self.document.get_ref()
    }

    /// The document as what describes it; `diagnostics` are what was found in it before.
    ///
    /// # Errors
    /// The first thing that does not fit the description, or was found.
    pub fn read<T: DeserializeOwned>(
        &self,
        tops: &[Top],
        mut diagnostics: Vec<Diagnostic>,
    ) -> Result<T, PlanError> {
        // Serde would take a list for a table.
        self.judge(tops.iter().filter_map(|top| self.misshapen(top)).collect())?;
        let document = toml::Deserializer::from(self.document.clone());
        match T::deserialize(document) {
            Ok(read) => self.judge(diagnostics).map(|()| read),
            Err(error) => {
                let last = self.diagnose(&error);
                diagnostics.retain(|diagnostic| diagnostic.at <= last.at);
                self.judge(diagnostics)?;
                Err(located(self.file, self.text, last))
            }
        }
    }

    /// Refuses the file for the first of what was found.
    ///
    /// # Errors
    /// When anything was found.
    pub fn judge(&self, diagnostics: Vec<Diagnostic>) -> Result<(), PlanError> {
        let first = diagnostics
            .into_iter()
            .min_by_key(|diagnostic| diagnostic.at);
        first.map_or(Ok(()), |diagnostic| {
            Err(located(self.file, self.text, diagnostic))
        })
    }

    /// A value as it stands in the file, on one line and not too long.
    pub fn quote(&self, span: Range<usize>) -> String {
        let words = self.text.get(span).unwrap_or_default().split_whitespace();
        let line = words.collect::<Vec<_>>().join(" ");
        let mut short: String = line.chars().take(QUOTE_CHARS).collect();
        let cut = short.len() < line.len();
        short = short.escape_debug().to_string();
        short = short.replace("\\\"", "\"").replace("\\'", "'");
        if cut {
            short.push('…');
        }
        short
    }

    /// What stands where a table should.
    fn misshapen(&self, top: &Top) -> Option<Diagnostic> {
        let (key, wanted, empty) = top;
        let value = self.document().get(*key)?;
        let at = |value: &Spanned<_>| value.span().start;
        let wrong = match (value.get_ref(), empty) {
            (DeValue::Table(_), None) => return None,
            (DeValue::Table(_), Some(_)) => {
                let what = format!("[{key}] is a single table");
                let remedy = format!("write [[{key}]] in double brackets");
                return Some(Diagnostic::new(at(value), what, remedy));
            }
            (DeValue::Array(items), Some([what, remedy])) if items.is_empty() => {
                return Some(Diagnostic::new(at(value), what.replace(KEY, key), *remedy));
            }
            (DeValue::Array(items), Some(_)) => {
                items.iter().find(|item| !item.get_ref().is_table())?
            }
            _ => value,
        };
        let quote = self.quote(wrong.span());
        let what = format!("{key} = {quote} is {}", type_name(wrong.get_ref()));
        Some(Diagnostic::new(at(wrong), what, format!("write {wanted}")))
    }

    /// A key that is none of those `known` in a table.
    pub fn unknown_key(
        &self,
        key: &str,
        span: Range<usize>,
        table: &str,
        known: &[&str],
    ) -> Diagnostic {
        let at = span.start;
        let what = format!("unknown key {} in {table}", self.quote(span));
        Diagnostic::new(at, what, instead(key, known))
    }

    /// An error of serde in words for people.
    fn diagnose(&self, error: &toml::de::Error) -> Diagnostic {
        let message = error.message();
        let halves: Vec<&str> = message.split(HALF).collect();
        let span = match halves[..] {
            [_, _, start, end] => start.parse().unwrap_or(0)..end.parse().unwrap_or(0),
            _ => error.span().unwrap_or_default(),
        };
        let (kind, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let Some((table, key, value)) = at(&span, self.document(), self.title) else {
            return Diagnostic::new(span.start, message, "write what the documentation has");
        };
        let Some(value) = value else {
            return self.unknown_key(key, span, &table, &known);
        };
        let (what, remedy) = match halves[..] {
            _ if kind.starts_with("unknown variant ") => {
                let word = value.as_str().unwrap_or_default();
                (format!("unknown {KEY} {VALUE}"), instead(word, &known))
            }
            [what, remedy, ..] => (what.to_owned(), remedy.to_owned()),
            _ if message.ends_with("overflowed") => {
                let what = format!("{KEY} = {VALUE} is too large");
                (what, "write a smaller number".to_owned())
            }
            _ => {
                let what = format!("{KEY} = {VALUE} is {}", type_name(value));
                let wanted = match expected {
                    "a boolean" => "true or false",
                    wanted => wanted,
                };
                (what, format!("write {wanted}"))
            }
        };
        let quote = self.quote(span.clone());
        let filled = |text: String| text.replace(KEY, key).replace(VALUE, &quote);
        Diagnostic::new(span.start, filled(what), filled(remedy))
    }
}

/// What of the document has exactly this span: its table as messages have it, `[traffic]`, its key,
/// and its value where it is one and not the key.
fn at<'t, 'd>(
    span: &Range<usize>,
    table: &'t DeTable<'d>,
    title: &str,
) -> Option<(String, &'t str, Option<&'t DeValue<'d>>)> {
    table.iter().find_map(|(key, item)| {
        let value = if key.span() == *span {
            Some(None)
        } else {
            value_at(item, span).map(Some)
        };
        let key: &str = key.get_ref();
        let place = value.map(|value| (title.to_owned(), key, value));
        place.or_else(|| match item.get_ref() {
            DeValue::Table(table) => at(span, table, &format!("[{key}]")),
            DeValue::Array(items) => {
                let mut tables = items.iter().filter_map(|item| item.get_ref().as_table());
                tables.find_map(|table| at(span, table, &format!("[[{key}]]")))
            }
            _ => None,
        })
    })
}

/// The value with this span: itself, or one of a list.
fn value_at<'t, 'd>(
    value: &'t Spanned<DeValue<'d>>,
    span: &Range<usize>,
) -> Option<&'t DeValue<'d>> {
    if value.span() == *span {
        return Some(value.get_ref());
    }
    let items = value.get_ref().as_array()?;
    items.iter().find_map(|value| value_at(value, span))
}

/// An error with the line of its place.
fn located(file: &str, text: &str, diagnostic: Diagnostic) -> PlanError {
    let before = text.as_bytes().get(..diagnostic.at).unwrap_or_default();
    PlanError {
        file: file.to_owned(),
        line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
        what: diagnostic.problem.what,
        fix: diagnostic.problem.remedy.unwrap_or_default(),
    }
}

/// A value's type with its article.
fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
