//! Rows as CSV.

use std::io::Write;

use crate::error::ReportError;

/// Name of a column and its field; absent values are empty.
pub(crate) type Field<T> = (&'static str, fn(&T) -> String);

/// Writes a header and the rows.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub(crate) fn write<T>(
    out: &mut impl Write,
    columns: &[Field<T>],
    rows: impl IntoIterator<Item = T>,
) -> Result<(), ReportError> {
    let names = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = rows.into_iter();
    records(out, names, rows.map(|row| fields(columns, &row)))
}

/// The fields of a row.
pub(crate) fn fields<T>(columns: &[Field<T>], row: &T) -> Vec<String> {
    columns.iter().map(|(_, field)| field(row)).collect()
}

/// As [`write`], of rows as they stand.
pub(crate) fn records(
    out: &mut impl Write,
    names: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<(), ReportError> {
    let write = |source| ReportError::Write {
        format: "CSV",
        source,
    };
    let mut csv = ::csv::Writer::from_writer(out);
    for row in std::iter::once(names).chain(rows) {
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

pub(crate) fn number(value: Option<f64>) -> String {
    text(value.filter(|v| v.is_finite()))
}

pub(crate) fn text(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
