//! Durations as people write them: `500ms`, `30s`, `1.5m`, `2h`.

use std::time::Duration;

use crate::problem::Problem;

/// Longest duration a plan or the command line may ask for.
pub const MAX_DURATION: Duration = Duration::from_secs(7 * 24 * 3600);

/// Unit and its length in milliseconds. `ms` stands before `m` and `s`, its own endings.
const UNITS: [(&str, f64); 4] = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3600e3)];

/// Text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DurationError {
    /// A bare number.
    NoUnit(String),
    /// Anything else that does not parse.
    Malformed(String),
    /// Finer than a millisecond.
    TooFine(String),
    /// More than [`MAX_DURATION`].
    TooLong(String),
}

impl DurationError {
    /// What is wrong with the text, and what to write.
    pub fn problem(&self) -> Problem {
        match self {
            Self::NoUnit(text) => Problem::value(
                format!("{text:?} has no unit"),
                format!("write \"{text}s\" for seconds (ms, s, m or h)"),
            ),
            Self::Malformed(text) => Problem::value(
                format!("{text:?} is not a duration"),
                "write a number and ms, s, m or h, as in \"30s\"",
            ),
            Self::TooFine(text) => Problem::value(
                format!("{text:?} is finer than a millisecond"),
                "write whole milliseconds, as in \"500ms\"",
            ),
            Self::TooLong(text) => Problem::value(
                format!("{text:?} is longer than 168h"),
                "write a shorter duration",
            ),
        }
    }
}

crate::display_problem!(DurationError);

/// Reads a duration: a decimal number directly followed by `ms`, `s`, `m` or `h`, in whole
/// milliseconds, at most [`MAX_DURATION`].
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let quoted = || text.to_owned();
    let is_number = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
            && part.starts_with(|first: char| first.is_ascii_digit())
            && part.ends_with(|last: char| last.is_ascii_digit())
    };
    if is_number(text) {
        return Err(DurationError::NoUnit(quoted()));
    }
    let (number, unit_ms) = UNITS
        .iter()
        .find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, *ms)))
        .filter(|(number, _)| is_number(number))
        .ok_or_else(|| DurationError::Malformed(quoted()))?;
    let number: f64 = number
        .parse()
        .map_err(|_| DurationError::Malformed(quoted()))?;
    let ms = number * unit_ms;
    if ms > MAX_DURATION.as_millis() as f64 {
        return Err(DurationError::TooLong(quoted()));
    }
    // 0.1 and its like have no exact binary form; a millionth of a millisecond is no intent.
    if (ms - ms.round()).abs() > 1e-6 {
        return Err(DurationError::TooFine(quoted()));
    }
    Ok(Duration::from_millis(ms.round() as u64))
}

/// The shortest spelling that [`parse_duration`] reads back as the same whole milliseconds.
pub fn format_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0 => "0s".to_owned(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        _ => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_multiply() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("1.5m", 90_000),
            ("2h", 7_200_000),
            ("0s", 0),
            ("0.1s", 100),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(ms)),
                "{text}"
            );
        }
    }

    #[test]
    fn every_spelling_reads_back() {
        for ms in [
            0,
            1,
            999,
            1_000,
            1_500,
            60_000,
            90_000,
            3_600_000,
            604_800_000,
        ] {
            let duration = Duration::from_millis(ms);
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }

    #[test]
    fn bad_text_says_what_to_write() {
        let refused = |text: &str| parse_duration(text).unwrap_err().to_string();
        for text in ["30", "1.5"] {
            let message =
                format!("\"{text}\" has no unit; write \"{text}s\" for seconds (ms, s, m or h)");
            assert_eq!(refused(text), message);
        }
        for text in ["", "-1s", "1.2.3s", "1e3s", "30sec", "infs"] {
            let wanted = "is not a duration; write a number and ms, s, m or h, as in \"30s\"";
            assert_eq!(refused(text), format!("\"{text}\" {wanted}"));
        }
        assert_eq!(
            refused("0.5ms"),
            "\"0.5ms\" is finer than a millisecond; write whole milliseconds, as in \"500ms\""
        );
        assert_eq!(
            refused("169h"),
            "\"169h\" is longer than 168h; write a shorter duration"
        );
    }
}
