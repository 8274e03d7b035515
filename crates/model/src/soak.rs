//! What a soak is asked for and what was found beforehand.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::interval::{LoadLine, LoadSummary};
use crate::note::Note;
use crate::run::Fingerprint;
use crate::units::Fps;

/// A load, in frames per second or as a share of something that is measured first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "of")]
pub enum LoadWish {
    /// Of the throughput that a search finds.
    Throughput {
        /// The share.
        ratio: f64,
    },
    /// Of the highest load: the link's rate, or what the tester sends without the path.
    Maximum {
        /// The share.
        ratio: f64,
    },
    /// As it is.
    Rate {
        /// Frames per second and direction.
        fps: f64,
    },
}

/// Text that is no load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a load; write 80% of the throughput, 80%max of the highest load, or frames per second, as in 200k or 1.5M"
)]
pub struct LoadWishError(String);

/// Text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid rate; write frames per second from 1 to 1G, as in 500, 200k or 1.5M")]
pub struct RateError(String);

/// Lowest and highest rate in frames per second.
const RATES: std::ops::RangeInclusive<f64> = 1.0..=1e9;
/// Shares in per cent.
const PERCENT: std::ops::RangeInclusive<f64> = 0.1..=200.0;

/// Reads a rate in frames per second, with `k`, `M` or `G` behind it.
///
/// # Errors
/// [`RateError`] for what is none, or is out of range.
pub fn rate(text: &str) -> Result<Fps, RateError> {
    let wrong = || RateError(text.to_owned());
    let plain = text.trim();
    let (digits, by) = match plain.char_indices().last() {
        Some((at, 'k' | 'K')) => (&plain[..at], 1e3),
        Some((at, 'M' | 'm')) => (&plain[..at], 1e6),
        Some((at, 'G' | 'g')) => (&plain[..at], 1e9),
        _ => (plain, 1.0),
    };
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    let fps = number * by;
    if RATES.contains(&fps) {
        Ok(Fps(fps))
    } else {
        Err(wrong())
    }
}

impl FromStr for LoadWish {
    type Err = LoadWishError;

    fn from_str(text: &str) -> Result<Self, LoadWishError> {
        let wrong = || LoadWishError(text.to_owned());
        let ratio = |digits: &str| {
            let percent: f64 = digits.trim().parse().map_err(|_| wrong())?;
            if PERCENT.contains(&percent) {
                Ok(percent / 100.0)
            } else {
                Err(wrong())
            }
        };
        let plain = text.trim();
        if let Some(digits) = plain.strip_suffix("%max") {
            return Ok(Self::Maximum {
                ratio: ratio(digits)?,
            });
        }
        if let Some(digits) = plain.strip_suffix('%') {
            return Ok(Self::Throughput {
                ratio: ratio(digits)?,
            });
        }
        match rate(plain) {
            Ok(Fps(fps)) => Ok(Self::Rate { fps }),
            Err(_) => Err(wrong()),
        }
    }
}

impl fmt::Display for LoadWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A share has four digits, and none that binary fractions add.
        let percent = |ratio: f64| (ratio * 1e6).round() / 1e4;
        match self {
            Self::Throughput { ratio } => write!(f, "{}%", percent(*ratio)),
            Self::Maximum { ratio } => write!(f, "{}%max", percent(*ratio)),
            Self::Rate { fps } => write!(f, "{fps}"),
        }
    }
}

/// What a search before a soak found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundLoad {
    /// What the load is a share of, in frames per second.
    pub whole_fps: f64,
    /// Trials that it took.
    pub trials: u32,
    /// Length of the search in seconds.
    pub seconds: f64,
}

/// `soak.json`: what a soak sends, over what, and for how long.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakHead {
    /// Schema version.
    pub schema: u32,
    /// Name of the plan.
    pub name: String,
    /// Name of the cell.
    pub cell: String,
    /// Start of the first session, RFC 3339 in UTC.
    pub started: String,
    /// Command line to repeat it.
    pub command: String,
    /// The load, as it was asked for.
    pub wish: LoadWish,
    /// What was measured for that; absent of a rate.
    pub found: Option<FoundLoad>,
    /// The loss goal of that search; absent without one.
    pub loss_goal: Option<f64>,
    /// The load per direction in frames per second.
    pub load_fps: f64,
    /// Length of an interval in seconds.
    pub every_s: f64,
    /// Length of the whole in seconds.
    pub for_s: f64,
    /// Engine that was asked for.
    pub engine: String,
    /// Engine and how it works here, of the first session.
    pub engine_name: String,
    /// What a reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<Note>,
}

/// A soak as far as it is: what a page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Soaked {
    /// Schema version.
    pub schema: u32,
    /// What was asked for.
    pub run: SoakHead,
    /// The machine.
    pub host: Fingerprint,
    /// What all intervals come to.
    pub summary: LoadSummary,
    /// The lines, without summary; of very many intervals several are put together.
    pub lines: Vec<LoadLine>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_people_write_them() {
        let of = |text: &str| text.parse::<LoadWish>();
        for (text, wish) in [
            ("80%", LoadWish::Throughput { ratio: 0.8 }),
            (" 12.5 %", LoadWish::Throughput { ratio: 0.125 }),
            ("120%", LoadWish::Throughput { ratio: 1.2 }),
            ("50%max", LoadWish::Maximum { ratio: 0.5 }),
            ("200k", LoadWish::Rate { fps: 200e3 }),
            ("1.5M", LoadWish::Rate { fps: 1.5e6 }),
            ("1G", LoadWish::Rate { fps: 1e9 }),
            ("7", LoadWish::Rate { fps: 7.0 }),
        ] {
            assert_eq!(of(text), Ok(wish), "{text}");
            assert_eq!(of(&wish.to_string()), Ok(wish), "{text}");
        }
        for text in [
            "", "%", "0", "0%", "-5", "201%", "2G", "x", "80%line", "k", "NaN", "inf", "ä",
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(
                error.contains("is not a load; write 80%"),
                "{text}: {error}"
            );
        }
    }
}
