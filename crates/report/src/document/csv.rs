//! Rows as CSV.

use std::io::Write;

use nicety_model::sock::{Family, SockTest};
use nicety_model::visible::visible;
use nicety_model::{Direction, FrameSize, Verdict};

use super::{Cell, Table};
use crate::error::ReportError;

/// Name of a column and its field.
pub(crate) type Field<T> = (&'static str, fn(&T) -> String);

/// The columns of a file: name and [`Value`] of each, for the row that the pattern takes apart.
macro_rules! fields {
    (|$row:pat_param| $($name:literal: $value:expr;)+) => {
        [$((
            $name,
            |row| {
                #[allow(unused_variables, reason = "few columns need all parts of a row")]
                let $row = row;
                $crate::document::csv::Value::text(&$value)
            },
        )),+]
    };
}

pub(crate) use fields;

/// What may stand in a field; what is absent or not finite is empty.
pub(crate) trait Value {
    fn text(&self) -> String;
}

macro_rules! values {
    ($($type:ty)+) => {
        $(impl Value for $type {
            fn text(&self) -> String {
                self.to_string()
            }
        })+
    };
}

values!(str String bool i64 u32 u64 usize FrameSize Direction Verdict SockTest Family);

impl Value for f64 {
    fn text(&self) -> String {
        if self.is_finite() {
            self.to_string()
        } else {
            String::new()
        }
    }
}

impl<T: Value> Value for Option<T> {
    fn text(&self) -> String {
        self.as_ref().map(T::text).unwrap_or_default()
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn text(&self) -> String {
        (*self).text()
    }
}

/// Tables of a page in one file: see [`crate::page::Page::csv`].
pub(crate) fn tables(all: &[&Table], header: bool) -> Result<String, ReportError> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in all.iter().flat_map(|table| &table.head) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let several = all.len() > 1;
    let first = several.then_some("table");
    let mut columns: Vec<String> = first
        .into_iter()
        .map(str::to_owned)
        .chain(names.iter().map(|name| named(name, all)))
        .collect();
    let mut rows = Vec::new();
    for table in all {
        for row in &table.rows {
            let field = |name: &&str| {
                let at = table.head.iter().position(|(known, _)| known == name);
                at.map(|at| raw(&row[at])).unwrap_or_default()
            };
            let caption = several.then(|| table.caption.clone());
            let fields = caption.into_iter().chain(names.iter().map(field));
            rows.push(fields.map(inert).collect::<Vec<_>>());
        }
    }
    if !header {
        columns.clear();
    }
    records(columns, rows)
}

/// The heading of a column with the unit of its numbers; `name` where tables have no words.
fn named(name: &str, tables: &[&Table]) -> String {
    let fields = tables.iter().flat_map(|table| {
        let at = table.head.iter().position(|(known, _)| known == name);
        at.into_iter()
            .flat_map(|at| table.rows.iter().map(move |row| &row[at]))
    });
    let mut units = fields.map(|cell| cell.extras().exact_unit);
    match units.find(|unit| !unit.is_empty()) {
        Some(unit) => format!("{name} ({unit})"),
        None if name.is_empty() => "name".to_owned(),
        None => name.to_owned(),
    }
}

/// The number where a field has one, else its text.
fn raw(cell: &Cell) -> String {
    match cell.value {
        _ if cell.extras().exact.is_some() => cell.extras().exact.unwrap_or_default().to_owned(),
        Some(value) => value.to_string(),
        None if cell.is_absent() => String::new(),
        None => cell.text.clone(),
    }
}

/// The rows below their header, if there is one.
fn records(header: Vec<String>, rows: Vec<Vec<String>>) -> Result<String, ReportError> {
    let mut out = Vec::new();
    let wrong = |row: &[String], error: &::csv::Error| ReportError::Csv {
        row: row.join(","),
        reason: error.to_string(),
    };
    let mut csv = ::csv::Writer::from_writer(&mut out);
    let header = Some(header).filter(|names| !names.is_empty());
    for row in header.iter().chain(&rows) {
        csv.write_record(row).map_err(|error| wrong(row, &error))?;
    }
    csv.flush().map_err(|source| ReportError::Write {
        format: "CSV",
        source,
    })?;
    drop(csv);
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// A field that is [`visible`], and that no spreadsheet takes for a formula (OWASP, CSV Injection): names come from
/// plans, hosts and tenants. A number keeps its sign.
fn inert(field: String) -> String {
    let field = visible(&field);
    if field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err() {
        format!("'{field}")
    } else {
        field
    }
}

/// Writes a header and the rows.
pub(crate) fn write<T>(
    out: &mut impl Write,
    columns: &[(impl AsRef<str>, impl Fn(&T) -> String)],
    rows: impl IntoIterator<Item = T>,
) -> Result<(), ReportError> {
    let write = |source| ReportError::Write {
        format: "CSV",
        source,
    };
    let mut csv = ::csv::Writer::from_writer(out);
    let names = columns.iter().map(|(name, _)| name.as_ref().to_owned());
    let rows = rows.into_iter().map(|row| {
        columns
            .iter()
            .map(|(_, field)| inert(field(&row)))
            .collect()
    });
    for row in std::iter::once::<Vec<String>>(names.collect()).chain(rows) {
        csv.write_record(&row)
            .map_err(|source| match source.into_kind() {
                ::csv::ErrorKind::Io(source) => write(source),
                kind => ReportError::Csv {
                    row: row.join(","),
                    reason: format!("{kind:?}"),
                },
            })?;
    }
    csv.flush().map_err(write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_a_formula() {
        let columns: [Field<&str>; 1] = [("name", |row| row.to_string())];
        let rows = [
            "=cmd|' /C calc'!A0",
            "+1+1",
            "-2+3",
            "@SUM(A1)",
            "\t=1",
            "a\x1b[31m,\n",
            "-2.5",
            "+3e9",
            "a=b",
        ];
        let mut out = Vec::new();
        write(&mut out, &columns, rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = [
            "name",
            "'=cmd|' /C calc'!A0",
            "'+1+1",
            "'-2+3",
            "'@SUM(A1)",
            "\u{fffd}=1",
            "\"a\u{fffd}[31m,\u{fffd}\"",
            "-2.5",
            "+3e9",
            "a=b",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
