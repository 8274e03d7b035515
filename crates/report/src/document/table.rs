//! Tables.

use nicety_model::knob::Knob;
use nicety_model::{Direction, FrameSize, Verdict};

use super::{Badge, Cell};

/// What stands in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Names the row, or is a part of its name.
    Name,
    /// A name that is a number.
    Place,
    Text,
    /// Sentences, which may break.
    Wide,
    /// Words that stay on one line.
    Tight,
    Number,
    /// The number that the table is about.
    Main,
}

impl Kind {
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Place | Self::Number | Self::Main)
    }

    pub(crate) fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::Place)
    }
}

/// Heading, what stands below it, and how it follows from what a row is of.
pub(crate) type Of<'f, T> = (&'f str, Kind, &'f dyn Fn(&T) -> Cell);

/// The columns of a table: heading, [`Kind`] and field of each, for the row that the pattern takes apart.
macro_rules! columns {
    (|$row:pat_param| $($name:tt $kind:ident: $field:expr;)+) => {
        &[$((
            $name,
            $crate::document::Kind::$kind,
            &|row| {
                #[allow(unused_variables, reason = "few columns need all parts of a row")]
                let $row = row;
                $crate::document::table::Field::cell($field)
            },
        )),+]
    };
}

pub(crate) use columns;

/// What may stand in a field as it is.
pub(crate) trait Field {
    fn cell(self) -> Cell;
}

macro_rules! field {
    ($of:ident: $($type:ty),+ => $cell:expr) => {
        $(impl Field for $type {
            fn cell(self) -> Cell {
                let $of = self;
                $cell
            }
        })+
    };
}

field!(text: String, &String, &str => text.into());
field!(cell: Cell => cell);
field!(lines: Vec<String> => Cell::list(lines));
field!(badge: Badge, Verdict => Cell::badge(badge));
field!(of: u32, &u32, u64, i32, i64, usize, f64, FrameSize, Direction, &Direction, &Knob => of.to_string().into());

impl<T: Field> Field for Option<T> {
    fn cell(self) -> Cell {
        self.map_or_else(Cell::absent, T::cell)
    }
}

/// What becomes of a column that a narrow terminal has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrow {
    /// It is named.
    Named,
    /// Its fields are listed below the table.
    Listed,
}

/// Rows of which a page shows the first. One with all rows of thousands of cells would be slow to open.
pub(crate) const MOST: usize = 500;

/// A table.
#[derive(Default)]
pub struct Table {
    pub(crate) caption: String,
    pub(crate) head: Vec<(String, Kind)>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Rows there are; of more than [`MOST`] some tables have the first only.
    pub(crate) total: usize,
    /// Whether pages show all rows.
    pub(crate) whole: bool,
    /// Whether pages may keep rows for who asks for them.
    pub(crate) folds: bool,
    /// Sentences below it.
    pub(crate) legend: String,
    /// Names of the rows where they have no room for the columns that say it.
    pub(crate) names: Vec<String>,
    /// Headings over rows that belong together, in terminals: one for each row, or none.
    pub(crate) headings: Vec<String>,
    /// Columns that the headings say.
    pub(crate) headed: Vec<&'static str>,
    /// Columns given up at narrow widths, first one first.
    pub(crate) narrow: Vec<(String, Narrow)>,
    /// Whether a terminal breaks fields of [`Kind::Wide`]; the first column must not be empty then.
    pub(crate) wraps: bool,
}

impl Table {
    /// A table of these columns without rows.
    pub(crate) fn new(caption: impl Into<String>, head: Vec<(String, Kind)>) -> Self {
        Self {
            caption: caption.into(),
            head,
            folds: true,
            ..Self::default()
        }
    }

    /// With a row for each of `rows`.
    pub(crate) fn of<T>(
        caption: impl Into<String>,
        rows: impl IntoIterator<Item = T>,
        columns: &[Of<'_, T>],
    ) -> Self {
        Self::up_to(usize::MAX, caption, rows, columns)
    }

    /// As [`Self::of`], of very many rows the first only.
    pub(crate) fn first<T>(
        caption: impl Into<String>,
        rows: impl IntoIterator<Item = T>,
        columns: &[Of<'_, T>],
    ) -> Self {
        Self::up_to(MOST, caption, rows, columns)
    }

    fn up_to<T>(
        most: usize,
        caption: impl Into<String>,
        rows: impl IntoIterator<Item = T>,
        columns: &[Of<'_, T>],
    ) -> Self {
        let head = columns
            .iter()
            .map(|(name, kind, _)| ((*name).to_owned(), *kind));
        let mut table = Self::new(caption, head.collect());
        for row in rows {
            if table.rows.len() < most {
                table.push(columns.iter().map(|(_, _, cell)| cell(&row)).collect());
            } else {
                table.total += 1;
            }
        }
        table
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
        self.total += 1;
    }

    pub(crate) fn legend(mut self, legend: impl Into<String>) -> Self {
        self.legend = legend.into();
        self
    }

    pub(crate) fn narrow(mut self, narrow: &[(&str, Narrow)]) -> Self {
        self.narrow = narrow
            .iter()
            .map(|(name, what)| ((*name).to_owned(), *what))
            .collect();
        self
    }

    /// With sentences broken where the terminal is too narrow for them.
    pub(crate) fn wrapped(mut self) -> Self {
        self.wraps = true;
        self
    }

    /// Without the columns in which no field `speaks`.
    pub(crate) fn speaking(mut self, speaks: impl Fn(&str, &Cell) -> bool) -> Self {
        let kept: Vec<bool> = (0..self.head.len())
            .map(|at| {
                self.rows
                    .iter()
                    .any(|row| speaks(&self.head[at].0, &row[at]))
            })
            .collect();
        self.keep(&kept);
        self
    }

    /// Without the columns that are not kept.
    pub(crate) fn keep(&mut self, kept: &[bool]) {
        let retain = |n: &mut usize| {
            *n += 1;
            kept[*n - 1]
        };
        let mut at = 0;
        self.head.retain(|_| retain(&mut at));
        for row in &mut self.rows {
            let mut at = 0;
            row.retain(|_| retain(&mut at));
        }
    }

    /// Moves a column right behind another one.
    pub(crate) fn rearrange(&mut self, column: &str, behind: &str) {
        let at = |name: &str| self.head.iter().position(|(heading, _)| heading == name);
        if let Some((from, to)) = at(column).zip(at(behind)).filter(|(from, to)| from > to) {
            self.head[to + 1..=from].rotate_right(1);
            for row in &mut self.rows {
                row[to + 1..=from].rotate_right(1);
            }
        }
    }

    /// Name of a row: its own, or the fields that name it.
    pub(crate) fn name(&self, row: usize) -> String {
        self.names.get(row).cloned().unwrap_or_else(|| {
            let names = self.head.iter().zip(&self.rows[row]);
            let names = names.filter(|((_, kind), _)| kind.is_name());
            let names: Vec<&str> = names.map(|(_, cell)| cell.text.as_str()).collect();
            names.join(", ")
        })
    }
}
