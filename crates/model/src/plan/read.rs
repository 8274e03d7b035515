//! Reading typed values out of a TOML table, with the line of whatever is wrong: for plans, and
//! for the policies of other crates.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::plan::PlanError;
use crate::plan::words::instead;

/// Longest piece of the source quoted in a message, in characters.
const QUOTE_CHARS: usize = 40;

/// A value of the document with its place.
pub type Value<'d> = Spanned<DeValue<'d>>;
/// A table of the document.
pub type Table<'d> = DeTable<'d>;

/// The document and its name: turns places into errors.
#[derive(Clone, Copy)]
pub struct Source<'d> {
    /// File name as given.
    pub file: &'d str,
    /// Its text.
    pub text: &'d str,
}

impl<'d> Source<'d> {
    /// The document as a table.
    ///
    /// # Errors
    /// The first place that is no TOML.
    pub fn document(&self) -> Result<Spanned<Table<'d>>, PlanError> {
        DeTable::parse(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            self.error(offset, message, "correct the TOML syntax on this line")
        })
    }

    /// Line of a byte offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// An error at a byte offset.
    pub fn error(
        &self,
        offset: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> PlanError {
        PlanError {
            file: self.file.to_owned(),
            line: self.line(offset),
            what: what.into(),
            fix: fix.into(),
        }
    }

    /// The value as it stands in the file, on one line and not too long.
    pub fn quote(&self, span: Range<usize>) -> String {
        let words: Vec<&str> = self
            .text
            .get(span)
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let line = words.join(" ");
        if line.chars().count() <= QUOTE_CHARS {
            return line
                .escape_debug()
                .to_string()
                .replace("\\\"", "\"")
                .replace("\\'", "'");
        }
        let short: String = line.chars().take(QUOTE_CHARS).collect();
        format!(
            "{}…",
            short
                .escape_debug()
                .to_string()
                .replace("\\\"", "\"")
                .replace("\\'", "'")
        )
    }
}

/// One table of the plan, its keys checked.
pub struct Section<'t, 'd> {
    /// The document.
    pub source: Source<'d>,
    table: &'t Table<'d>,
}

/// One entry of a section.
#[derive(Clone, Copy)]
pub struct Entry<'t, 'd> {
    /// The document.
    pub source: Source<'d>,
    /// Key.
    pub key: &'static str,
    /// Value.
    pub value: &'t Value<'d>,
}

impl<'t, 'd> Section<'t, 'd> {
    /// Opens a table, `name` in messages, and refuses keys that are not `known`, the first of
    /// the file first.
    pub fn open(
        source: Source<'d>,
        name: &'static str,
        table: &'t Table<'d>,
        known: &[&'static str],
    ) -> Result<Self, PlanError> {
        let unknown = table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        if let Some(key) = unknown {
            let word: &str = key.get_ref();
            let fix = if known.is_empty() {
                "remove it, there is nothing to set here".to_owned()
            } else if known == ["kind"] {
                "remove it, a path of this kind has no parameters".to_owned()
            } else {
                instead(word, known)
            };
            let what = format!("unknown key {} in {name}", source.quote(key.span()));
            return Err(source.error(key.span().start, what, fix));
        }
        Ok(Self { source, table })
    }

    /// The entry of a key, if it is there.
    pub fn get(&self, key: &'static str) -> Option<Entry<'t, 'd>> {
        self.table.get(key).map(|value| Entry {
            source: self.source,
            key,
            value,
        })
    }
}

impl<'t, 'd> Entry<'t, 'd> {
    /// Where the value begins.
    pub fn offset(&self) -> usize {
        self.value.span().start
    }

    /// An error about this entry's value.
    pub fn error(&self, what: impl Into<String>, fix: impl Into<String>) -> PlanError {
        self.source.error(self.offset(), what, fix)
    }

    /// The value as it stands in the file.
    pub fn quote(&self) -> String {
        self.source.quote(self.value.span())
    }

    /// An error: the value has the wrong type.
    pub fn wrong_type(&self, wanted: &str) -> PlanError {
        let what = format!("{} = {} is {}", self.key, self.quote(), self.type_name());
        self.error(what, format!("write {wanted}"))
    }

    /// The value's type with its article.
    fn type_name(&self) -> &'static str {
        match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a fraction",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }

    /// The same key with one of its list's values.
    fn with(&self, value: &'t Value<'d>) -> Self {
        Self { value, ..*self }
    }

    /// The values of a list, or the single value that stands for a list of one. Refuses an
    /// empty list.
    pub fn items(&self) -> Result<Vec<Self>, PlanError> {
        match self.value.get_ref() {
            DeValue::Array(items) if items.is_empty() => Err(self.error(
                format!("{} is an empty list", self.key),
                "give it at least one value or remove it",
            )),
            DeValue::Array(items) => Ok(items.iter().map(|item| self.with(item)).collect()),
            _ => Ok(vec![*self]),
        }
    }

    /// Reads every item with `read` and refuses a value that comes twice.
    pub fn list<T, F>(&self, read: F) -> Result<Vec<T>, PlanError>
    where
        T: Clone + std::hash::Hash + Eq,
        F: Fn(&Self) -> Result<T, PlanError>,
    {
        let items = self.items()?;
        let mut seen = std::collections::HashSet::with_capacity(items.len());
        let mut values = Vec::with_capacity(items.len());
        for item in &items {
            let value = read(item)?;
            if !seen.insert(value.clone()) {
                return Err(item.error(
                    format!("{} has {} twice", self.key, item.quote()),
                    "remove one of them",
                ));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// A string.
    pub fn string(&self, wanted: &str) -> Result<&'t str, PlanError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.as_ref()),
            _ => Err(self.wrong_type(wanted)),
        }
    }

    /// One of the `known` words.
    pub fn word(&self, known: &[&'static str]) -> Result<&'static str, PlanError> {
        let wanted = format!("one of {} in quotes", known.join(", "));
        let text = self.string(&wanted)?;
        known
            .iter()
            .find(|word| **word == text)
            .copied()
            .ok_or_else(|| {
                let what = format!("unknown {} {}", self.key, self.quote());
                self.error(what, instead(text, known))
            })
    }

    /// A whole number within `range`; `wanted` says it in words.
    pub fn whole(
        &self,
        range: std::ops::RangeInclusive<u32>,
        wanted: &str,
    ) -> Result<u32, PlanError> {
        let DeValue::Integer(number) = self.value.get_ref() else {
            return Err(self.wrong_type(wanted));
        };
        i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .and_then(|value| u32::try_from(value).ok())
            .filter(|value| range.contains(value))
            .ok_or_else(|| {
                let (low, high) = (range.start(), range.end());
                let what = format!("{} = {} is outside {low} to {high}", self.key, self.quote());
                self.error(what, format!("write {wanted}"))
            })
    }

    /// A number, whole or not; `wanted` says what it may be. Infinite and the like are refused.
    pub fn number(&self, wanted: &str) -> Result<f64, PlanError> {
        let number = match self.value.get_ref() {
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse::<f64>().ok(),
            _ => return Err(self.wrong_type(wanted)),
        };
        number
            .filter(|number| number.is_finite())
            .ok_or_else(|| self.wrong_type(wanted))
    }

    /// `true` or `false`.
    pub fn truth(&self) -> Result<bool, PlanError> {
        match self.value.get_ref() {
            DeValue::Boolean(yes) => Ok(*yes),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    /// A table, or an error that says `wanted`.
    pub fn table(&self, wanted: &str) -> Result<&'t Table<'d>, PlanError> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong_type(wanted)),
        }
    }
}
