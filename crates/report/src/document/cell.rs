//! What stands in a field of a table.

use maud::Markup;
use nicety_model::Verdict;
use nicety_police::explain::readable;

use super::Badge;
use crate::confidence::Confidence;
use crate::number::{self, ABSENT};

/// A field: text or a number with its unit and interval, a verdict, a list, a drawing.
#[derive(Default, Clone)]
pub struct Cell {
    /// As every format shows it; [`ABSENT`] where nothing was measured.
    pub(crate) text: String,
    /// What a page sorts by where the text does not do.
    pub(crate) value: Option<f64>,
    more: Option<Box<More>>,
}

/// What few fields have: tables may have very many.
#[derive(Default, Clone)]
pub(crate) struct More {
    pub(crate) unit: String,
    /// Unit of the exact number, where the text has another one.
    pub(crate) exact_unit: &'static str,
    /// What programs read in place of a word, where numbers are expected; nothing where there is no number.
    pub(crate) exact: Option<&'static str>,
    /// What the number is known to, for who has no room for a column of it.
    pub(crate) interval: Option<String>,
    /// Verdicts that the number rests on.
    pub(crate) confidence: Confidence,
    pub(crate) badge: Option<Badge>,
    /// Shorter text for pages, which have the details below it.
    pub(crate) on_page: Option<String>,
    /// Lines below it, on pages.
    pub(crate) details: Vec<String>,
    pub(crate) list: Vec<String>,
    /// All of what the text is only a summary of: pages open it on request.
    pub(crate) folded: Option<String>,
    /// Shade of a heat map.
    pub(crate) shade: Option<usize>,
    pub(crate) drawing: Option<Markup>,
    /// Anchor of its row in a page, and what the row is about.
    pub(crate) anchor: Option<(String, String)>,
}

static NOTHING_MORE: std::sync::LazyLock<More> = std::sync::LazyLock::new(More::default);

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Cell {
    pub(crate) fn absent() -> Self {
        ABSENT.into()
    }

    /// A text that may be missing.
    pub(crate) fn of(text: Option<impl ToString>) -> Self {
        text.map_or_else(Self::absent, |text| text.to_string().into())
    }

    /// A number in the words of its unit.
    pub(crate) fn number(value: impl Into<Option<f64>>, words: impl Fn(f64) -> String) -> Self {
        value.into().map_or_else(Self::absent, |v| words(v).into())
    }

    /// As [`Self::number`], for numbers whose words do not sort.
    pub(crate) fn sorted(value: impl Into<Option<f64>>, words: impl Fn(f64) -> String) -> Self {
        let value = value.into();
        Self::number(value, words).by(value)
    }

    /// A rate in bit/s: in words, and for programs as the number of this unit.
    pub(crate) fn rate(bps: impl Into<Option<f64>>) -> Self {
        Self::sorted(bps, readable).exact_unit("bit/s")
    }

    /// A word in place of a number, and what programs read there: a number, or nothing.
    pub(crate) fn word(word: impl Into<Self>, exact: &'static str) -> Self {
        let mut cell = word.into();
        cell.more().exact = Some(exact);
        cell
    }

    /// With the unit that programs are told.
    pub(crate) fn exact_unit(mut self, unit: &'static str) -> Self {
        self.more().exact_unit = unit;
        self
    }

    /// Bytes: in words, and for programs as their number.
    pub(crate) fn bytes(bytes: u64) -> Self {
        Self::sorted(bytes as f64, nicety_model::number::bytes).exact_unit("bytes")
    }

    pub(crate) fn count(value: u64) -> Self {
        number::count(value).into()
    }

    pub(crate) fn badge(badge: impl Into<Badge>) -> Self {
        let badge = badge.into();
        let mut cell = Self::from(badge.word);
        cell.more().badge = Some(badge);
        cell
    }

    /// Lines that belong together; none is absent.
    pub(crate) fn list(lines: Vec<String>) -> Self {
        if lines.is_empty() {
            return Self::absent();
        }
        let mut cell = Self::from(lines.join("; "));
        cell.more().list = lines;
        cell
    }

    /// The first field of a row that can be linked to.
    pub(crate) fn anchored(mut self, id: String, what: &str) -> Self {
        self.more().anchor = Some((id, what.to_owned()));
        self
    }

    pub(crate) fn drawn(drawing: Markup) -> Self {
        let mut cell = Self::default();
        cell.more().drawing = Some(drawing);
        cell
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// What few fields have.
    pub(crate) fn extras(&self) -> &More {
        self.more.as_deref().unwrap_or(&NOTHING_MORE)
    }

    pub(crate) fn is_absent(&self) -> bool {
        self.text == ABSENT
    }

    /// Sorted by this number; seven digits tell apart what is shown.
    pub(crate) fn by(mut self, value: Option<f64>) -> Self {
        let seven = |value: f64| format!("{value:.6e}").parse().unwrap_or(value);
        self.value = value.filter(|value| value.is_finite()).map(seven);
        self
    }

    pub(crate) fn unit(mut self, unit: &str) -> Self {
        self.more().unit = unit.to_owned();
        self
    }

    pub(crate) fn interval(mut self, interval: Option<String>) -> Self {
        self.more().interval = interval;
        self
    }

    pub(crate) fn marked(mut self, confidence: &Confidence) -> Self {
        if !confidence.mark().is_empty() && !self.is_absent() {
            self.more().confidence = confidence.clone();
        }
        self
    }

    /// With a verdict beside it where that is not `ok`.
    pub(crate) fn with(mut self, verdict: Verdict) -> Self {
        if verdict != Verdict::Ok {
            self.more().badge = Some(verdict.into());
        }
        self
    }

    /// A summary of `all`, for pages.
    pub(crate) fn folded(mut self, all: String) -> Self {
        self.more().folded = Some(all);
        self
    }

    pub(crate) fn on_page(mut self, text: impl Into<String>) -> Self {
        self.more().on_page = Some(text.into());
        self
    }

    pub(crate) fn details(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let lines = lines.into_iter().map(Into::into);
        for line in lines {
            self.more().details.push(line);
        }
        self
    }

    pub(crate) fn shade(mut self, shade: usize) -> Self {
        self.more().shade = Some(shade);
        self
    }

    /// Text with its mark, for formats without other signs.
    pub(crate) fn plain(&self) -> String {
        format!("{}{}", self.text, self.extras().confidence.mark())
    }
}
