//! The run object as JSON, without its trials: those are in `trials.jsonl`.

use std::io::{self, Write};

use nicety_model::Run;
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::error::{ReportError, write_text};
use crate::remedy;

/// Layout of the JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Indented, for people.
    #[default]
    Pretty,
    /// One line, for pipes.
    Compact,
    /// One line with six digits that matter of every number, for pages that carry very much.
    Short,
}

/// Writes the run without its trials, ended by a newline. Numbers that are not finite become
/// `null`.
///
/// # Errors
/// [`ReportError::Json`] when the run cannot be serialised, [`ReportError::Write`] when the
/// writer fails.
pub fn render(run: &Run, out: &mut impl Write, style: Style) -> Result<(), ReportError> {
    let mut text = text(run, style)?;
    text.push('\n');
    write_text(out, "JSON", &text)
}

/// Writes a value as JSON for people, ended by a newline; `name` says what it is where that fails.
///
/// # Errors
/// [`ReportError::Json`], [`ReportError::Write`].
pub fn pretty(name: &str, value: &impl Serialize, out: &mut impl Write) -> Result<(), ReportError> {
    let mut text = serde_json::to_string_pretty(value).map_err(failed(name))?;
    text.push('\n');
    write_text(out, "JSON", &text)
}

/// A value as JSON in one line.
pub(crate) fn compact(name: &str, value: &impl Serialize) -> Result<String, ReportError> {
    serde_json::to_string(value).map_err(failed(name))
}

fn failed(name: &str) -> impl FnOnce(serde_json::Error) -> ReportError {
    let name = name.to_owned();
    move |source| ReportError::Json { name, source }
}

/// The run without its trials as JSON text.
pub(crate) fn text(run: &Run, style: Style) -> Result<String, ReportError> {
    // Field by field, so that a run's trials (by far its largest part) are not copied.
    let light = Run {
        schema: run.schema,
        run: run.run.clone(),
        tester_limit_fps: run.tester_limit_fps.clone(),
        visits: run.visits.clone(),
        control: run.control.clone(),
        waterfalls: run.waterfalls.clone(),
        cells: run.cells.clone(),
        sockets: run.sockets.clone(),
        skipped: run.skipped.clone(),
        left_out: run.left_out.clone(),
        remedies: remedy::of(run),
        trials: Vec::new(),
    };
    let text = match style {
        Style::Pretty => serde_json::to_string_pretty(&light),
        Style::Compact => serde_json::to_string(&light),
        Style::Short => short(&light),
    };
    text.map_err(failed(&run.run.name))
}

/// Writes floats with six digits that matter.
struct SixDigits;

impl Formatter for SixDigits {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Whole numbers keep all their digits, as they would otherwise.
        let decimals = 5 - value.abs().log10().floor().clamp(-20.0, 5.0) as i32;
        let text = format!("{value:.*}", usize::try_from(decimals).unwrap_or(0));
        if text.contains('.') {
            let text = text.trim_end_matches('0');
            write!(writer, "{}", text.strip_suffix('.').unwrap_or(text))
        } else {
            writer.write_all(text.as_bytes())
        }
    }
}

fn short(of: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    of.serialize(&mut serde_json::Serializer::with_formatter(
        &mut bytes, SixDigits,
    ))?;
    // What is written is text or has been escaped.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn six_digits_matter() {
        let numbers = [
            0.0,
            -1.5,
            237_099.644_371,
            1.640_016_961,
            2e-5 / 3.0,
            1e9,
            0.1,
        ];
        let text = short(&numbers).unwrap_or_default();
        assert_eq!(text, "[0,-1.5,237100,1.64002,0.00000666667,1000000000,0.1]");
    }
}
