//! Rows as CSV.

use std::io::Write;

use nicety_model::sock::{Family, SockTest};
use nicety_model::{Direction, FrameSize, Verdict};

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

values!(str String bool u32 u64 usize FrameSize Direction Verdict SockTest Family);

impl Value for f64 {
    fn text(&self) -> String {
        match self.is_finite() {
            true => self.to_string(),
            false => String::new(),
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

/// A field that no spreadsheet takes for a formula (OWASP, CSV Injection): names come from plans, hosts and
/// tenants. A number keeps its sign.
fn inert(field: String) -> String {
    match field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err() {
        true => format!("'{field}"),
        false => field,
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
            "'\t=1",
            "-2.5",
            "+3e9",
            "a=b",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
