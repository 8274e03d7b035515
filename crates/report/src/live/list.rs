//! Rows of a full-screen view: sorted, filtered, scrolled; columns that do not fit are left out.

use std::cmp::Ordering;

use nicety_model::visible::visible;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Rect};
use ratatui_core::style::Modifier;
use ratatui_core::symbols::bar;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::sparkline::Sparkline;
use ratatui_widgets::table::{Row, Table};

use super::keys::View;
use super::look::{Look, Tone};

/// Columns between two columns.
const GAP: usize = 2;
/// Narrowest picture of the last values, and widest.
const SPARK: (usize, usize) = (15, 40);
/// Columns of a higher rank than this make room for one picture.
const BEFORE_SPARK: u8 = 4;

/// What a row is sorted by.
#[derive(Debug, Clone, PartialEq)]
pub enum Key {
    /// Highest first, what is absent last.
    Number(Option<f64>),
    /// In alphabetical order.
    Text,
    /// As the rows come.
    Place(usize),
}

/// One entry of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What is written.
    pub text: String,
    /// What it is sorted by.
    pub key: Key,
    /// How it is meant.
    pub tone: Tone,
}

impl Entry {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self {
            text: visible(text),
            key: Key::Text,
            tone: Tone::Plain,
        }
    }

    /// A number as text; a dash where there is none.
    pub fn number(value: Option<f64>, text: impl Fn(f64) -> String, look: Look) -> Self {
        Self {
            text: value.map_or_else(|| look.dash().to_owned(), text),
            key: Key::Number(value),
            tone: Tone::Plain,
        }
    }

    /// The same, meant so.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Written to the right.
    pub number: bool,
    /// Columns of the highest rank are left out first; rank 0 never is.
    pub rank: u8,
}

/// A row: an entry for each column, then the last values for each picture, newest last.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// By column.
    pub entries: Vec<Entry>,
    /// By picture.
    pub sparks: Vec<Vec<f64>>,
}

/// All rows.
#[derive(Debug)]
pub struct List<'l> {
    /// Columns of text.
    pub columns: &'l [Column],
    /// Headings of the pictures.
    pub sparks: &'l [&'l str],
    /// What a picture's full height is.
    pub highest: f64,
    /// Rows in the order they come.
    pub items: Vec<Item>,
}

impl List<'_> {
    /// Draws the rows that the view asks for; says how many there are behind the filter.
    pub fn render(&self, view: &mut View, look: Look, area: Rect, buf: &mut Buffer) -> usize {
        let by = view.sort % self.columns.len().max(1);
        let items = self.chosen(view, by);
        let page = usize::from(area.height.saturating_sub(1));
        view.settle(items.len(), page);
        if area.is_empty() {
            return items.len();
        }
        let shown: Vec<&Item> = items.iter().skip(view.top).take(page).copied().collect();
        let (kept, widths, spark) = self.fit(area.width.into());
        let rows = shown.iter().map(|item| {
            Row::new(kept.iter().zip(&widths).map(|(column, width)| {
                let entry = &item.entries[*column];
                let text = aligned(&entry.text, *width, self.columns[*column].number);
                Span::styled(text, look.style(entry.tone))
            }))
        });
        let header = kept.iter().zip(&widths).map(|(column, width)| {
            let mut title = self.columns[*column].title.to_owned();
            if *column == by {
                title += look.pick(" ▾", "*");
            }
            Line::from(aligned(&title, *width, self.columns[*column].number))
        });
        let header = Row::new(header).style(look.style(Tone::Dim).add_modifier(Modifier::BOLD));
        let lengths = widths.iter().map(|width| Constraint::Length(*width as u16));
        Table::new(rows, lengths)
            .header(header)
            .column_spacing(GAP as u16)
            .render(area, buf);
        if spark.0 > 0 {
            let used: usize = widths.iter().map(|width| width + GAP).sum();
            self.pictures(&shown, (used, spark), look, area, buf);
        }
        items.len()
    }

    /// Rows behind the filter, in order.
    fn chosen(&self, view: &View, by: usize) -> Vec<&Item> {
        let wanted = view.filter.to_lowercase();
        let has = |item: &&Item| {
            let mut entries = item.entries.iter();
            wanted.is_empty() || entries.any(|entry| entry.text.to_lowercase().contains(&wanted))
        };
        let mut items: Vec<&Item> = self.items.iter().filter(has).collect();
        items.sort_by(|a, b| {
            let order = match (a.entries.get(by), b.entries.get(by)) {
                (Some(a), Some(b)) => order(a, b),
                _ => Ordering::Equal,
            };
            if view.reversed {
                order.reverse()
            } else {
                order
            }
        });
        items
    }

    /// The columns that fit, their widths, then how many pictures and the width of each.
    fn fit(&self, width: usize) -> (Vec<usize>, Vec<usize>, (usize, usize)) {
        // By all rows, so that columns stay where they are while one scrolls.
        let wide = |column: usize| {
            let entries = self.items.iter().map(|item| &item.entries[column]);
            let longest = entries.map(|entry| entry.text.chars().count()).max();
            // Room for the mark of the column that is sorted by.
            let title = self.columns[column].title.chars().count() + 2;
            longest.unwrap_or(0).max(title)
        };
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let sum = |kept: &[usize]| -> usize { kept.iter().map(|column| wide(*column) + GAP).sum() };
        let picture = if self.sparks.is_empty() {
            0
        } else {
            SPARK.0 + GAP
        };
        loop {
            let ranks = kept.iter().map(|column| self.columns[*column].rank);
            let Some((at, rank)) = ranks.enumerate().max_by_key(|(_, rank)| *rank) else {
                break;
            };
            let picture = if rank > BEFORE_SPARK { picture } else { 0 };
            if rank == 0 || (sum(&kept) + picture).saturating_sub(GAP) <= width {
                break;
            }
            kept.remove(at);
        }
        let widths: Vec<usize> = kept.iter().map(|column| wide(*column).min(width)).collect();
        let room = width.saturating_sub(sum(&kept)) + GAP;
        let pictures = (room / (SPARK.0 + GAP)).min(self.sparks.len());
        let each = room.checked_div(pictures).unwrap_or(0);
        (
            kept,
            widths,
            (pictures, each.saturating_sub(GAP).min(SPARK.1)),
        )
    }

    /// The last values of the rows, right of them.
    fn pictures(
        &self,
        shown: &[&Item],
        (left, (pictures, width)): (usize, (usize, usize)),
        look: Look,
        area: Rect,
        buf: &mut Buffer,
    ) {
        for (number, title) in self.sparks.iter().take(pictures).enumerate() {
            let x = area.x + (left + number * (width + GAP)) as u16;
            let style = look.style(Tone::Dim).add_modifier(Modifier::BOLD);
            buf.set_stringn(x, area.y, title, width, style);
            for (line, item) in shown.iter().enumerate() {
                let values = &item.sparks[number];
                let old = values.len().saturating_sub(width);
                let area = Rect::new(x, area.y + 1 + line as u16, width as u16, 1);
                // Thousandths: the widget counts in whole numbers.
                let share = |value: &f64| {
                    if self.highest > 0.0 && *value > 0.0 {
                        ((value / self.highest * 1000.0).ceil() as u64).clamp(1, 1000)
                    } else {
                        0
                    }
                };
                Sparkline::default()
                    .data(values[old..].iter().map(share))
                    .max(1000)
                    .bar_set(if look.unicode {
                        bar::NINE_LEVELS
                    } else {
                        ASCII
                    })
                    .style(look.style(Tone::Good))
                    .render(area, buf);
            }
        }
    }
}

/// Bars of a terminal without Unicode.
const ASCII: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "*",
    five_eighths: "+",
    half: "=",
    three_eighths: "-",
    one_quarter: ":",
    one_eighth: ".",
    empty: " ",
};

fn aligned(text: &str, width: usize, right: bool) -> String {
    if right {
        format!("{text:>width$}")
    } else {
        format!("{text:<width$}")
    }
}

fn order(a: &Entry, b: &Entry) -> Ordering {
    match (&a.key, &b.key) {
        (Key::Number(Some(a)), Key::Number(Some(b))) => b.total_cmp(a),
        (Key::Number(a), Key::Number(b)) => b.is_some().cmp(&a.is_some()),
        (Key::Place(a), Key::Place(b)) => a.cmp(b),
        _ => a.text.cmp(&b.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::drawn::{ASCII_LOOK, text};

    const fn column(title: &'static str, number: bool, rank: u8) -> Column {
        Column {
            title,
            number,
            rank,
        }
    }

    const COLUMNS: [Column; 3] = [
        column("name", false, 0),
        column("rate", true, 1),
        column("owner", false, 2),
    ];

    fn list() -> List<'static> {
        let item = |place: usize, rate: Option<f64>| Item {
            entries: vec![
                Entry {
                    key: Key::Place(place),
                    ..Entry::text(&format!("vf {place}"))
                },
                Entry::number(rate, |rate| format!("{rate:.0}"), ASCII_LOOK),
                Entry::text(if place == 2 { "Web" } else { "mail" }),
            ],
            sparks: vec![vec![0.0, rate.unwrap_or(0.0)]],
        };
        List {
            columns: &COLUMNS,
            sparks: &["last"],
            highest: 80.0,
            items: vec![
                item(0, Some(10.0)),
                item(1, None),
                item(2, Some(80.0)),
                item(10, Some(0.0)),
            ],
        }
    }

    fn drawn(view: &mut View, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        list().render(view, ASCII_LOOK, area, &mut buf);
        text(&buf)
    }

    #[test]
    fn rows_come_in_the_order_asked_for() {
        let order = |view: &mut View| -> Vec<String> {
            let text = drawn(view, 60, 6);
            text.lines()
                .skip(1)
                .map(|line| line.chars().take(5).collect::<String>().trim().to_owned())
                .collect()
        };
        let mut view = View::default();
        assert_eq!(order(&mut view), ["vf 0", "vf 1", "vf 2", "vf 10", ""]);
        view.sort = 1;
        assert_eq!(order(&mut view), ["vf 2", "vf 0", "vf 10", "vf 1", ""]);
        view.reversed = true;
        assert_eq!(order(&mut view), ["vf 1", "vf 10", "vf 0", "vf 2", ""]);
        view.filter = "wEB".to_owned();
        assert_eq!(order(&mut view), ["vf 2", "", "", "", ""]);
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_by_rank() {
        let head = |width| {
            let text = drawn(&mut View::default(), width, 6);
            text.lines().next().unwrap().trim().to_owned()
        };
        assert_eq!(head(60), "name*     rate  owner    last");
        assert_eq!(head(24), "name*     rate  owner");
        assert_eq!(head(20), "name*     rate");
        assert_eq!(head(8), "name*");
    }

    #[test]
    fn pictures_have_one_scale() {
        let text = drawn(&mut View::default(), 60, 6);
        let ends: Vec<char> = text
            .lines()
            .skip(1)
            .filter_map(|line| line.trim_end().chars().last())
            .collect();
        // 10 of 80, nothing counted, 80 of 80, nothing sent.
        assert_eq!(ends, ['.', 'l', '#', 'l'], "{text}");
    }

    #[test]
    fn no_size_breaks_it() {
        for width in 0..70 {
            for height in 0..8 {
                drawn(&mut View::default(), width, height);
            }
        }
    }
}
