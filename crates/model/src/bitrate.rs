//! Bit rates as people write them and as drivers take them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// Bits per second. Written as tc(8) writes rates: `500mbit`, `2.5gbit`; units are powers of
/// 1000.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct BitRate(pub u64);

/// Unit and its bits per second, longest name first: `bit` is the ending of all others.
const UNITS: [(&str, u64); 5] = [
    ("tbit", 1_000_000_000_000),
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1_000),
    ("bit", 1),
];

/// Highest rate that is believed: 100 Tbit/s.
const MAX: f64 = 100e12;

/// Text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BitRateError {
    /// A bare number.
    NoUnit(String),
    /// Anything else that does not parse.
    Malformed(String),
    /// Parts of a bit, or more than any link has.
    OutOfRange(String),
}

impl BitRateError {
    /// What is wrong with the text, and what to write.
    pub fn problem(&self) -> Problem {
        match self {
            Self::NoUnit(text) => Problem::value(
                format!("{text:?} has no unit"),
                format!("write \"{text}mbit\" for megabits per second (kbit, mbit or gbit)"),
            ),
            Self::Malformed(text) => Problem::value(
                format!("{text:?} is not a valid rate"),
                "write a number and kbit, mbit or gbit, as in \"500mbit\"",
            ),
            Self::OutOfRange(text) => Problem::value(
                format!("{text:?} is not a rate of any link"),
                "write whole bits per second up to 100tbit",
            ),
        }
    }
}

crate::display_problem!(BitRateError);

impl BitRate {
    /// From a number of bits per second, rounded down; negative and not a number become 0.
    pub fn from_bps(bps: f64) -> Self {
        Self(bps.clamp(0.0, MAX) as u64)
    }

    /// From whole megabits per second.
    pub const fn from_mbit(mbit: u64) -> Self {
        Self(mbit.saturating_mul(1_000_000))
    }

    /// Bits per second for arithmetic.
    pub fn bps(self) -> f64 {
        self.0 as f64
    }

    /// Bytes that pass in `time`, rounded down.
    pub fn bytes_in(self, time: std::time::Duration) -> u64 {
        (self.bps() * time.as_secs_f64() / 8.0) as u64
    }
}

impl FromStr for BitRate {
    type Err = BitRateError;

    fn from_str(text: &str) -> Result<Self, BitRateError> {
        let whole = || text.chars().take(40).collect::<String>();
        let is_number = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_digit())
                && part.ends_with(|c: char| c.is_ascii_digit())
                && part.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        };
        if is_number(text) {
            return Err(BitRateError::NoUnit(whole()));
        }
        let lower = text.to_ascii_lowercase();
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((lower.strip_suffix(name)?.trim_end(), *unit)))
            .filter(|(number, _)| is_number(number))
            .ok_or_else(|| BitRateError::Malformed(whole()))?;
        let number: f64 = number
            .parse()
            .map_err(|_| BitRateError::Malformed(whole()))?;
        let bps = number * unit as f64;
        // 0.1 and its like have no exact binary form.
        if bps > MAX || (bps - bps.round()).abs() > 1e-3 {
            return Err(BitRateError::OutOfRange(whole()));
        }
        Ok(Self(bps.round() as u64))
    }
}

impl fmt::Display for BitRate {
    /// The largest unit that needs at most three decimals; [`FromStr`] reads the same rate back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |unit: u64| self.0 >= unit && self.0.is_multiple_of((unit / 1000).max(1));
        let (name, unit) = UNITS
            .into_iter()
            .find(|(_, unit)| fits(*unit))
            .unwrap_or(("bit", 1));
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            return f.pad(&format!("{whole}{name}"));
        }
        let digits = format!("{:03}", rest / (unit / 1000).max(1));
        f.pad(&format!("{whole}.{}{name}", digits.trim_end_matches('0')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_they_are_read() {
        for (text, bps, shown) in [
            ("500mbit", 500_000_000, "500mbit"),
            ("2.5Gbit", 2_500_000_000, "2.5gbit"),
            ("1000 kbit", 1_000_000, "1mbit"),
            ("64bit", 64, "64bit"),
            ("0mbit", 0, "0bit"),
            ("123.456mbit", 123_456_000, "123.456mbit"),
            ("123456789bit", 123_456_789, "123456.789kbit"),
            ("0.1gbit", 100_000_000, "100mbit"),
        ] {
            let rate: BitRate = text.parse().unwrap();
            assert_eq!(rate.0, bps, "{text}");
            assert_eq!(rate.to_string(), shown);
            assert_eq!(shown.parse(), Ok(rate));
        }
    }

    #[test]
    fn other_text_is_refused_with_what_to_write() {
        for (text, part) in [
            ("500", "\"500mbit\""),
            ("", "is not a valid rate"),
            ("-5mbit", "is not a valid rate"),
            ("5mbps", "is not a valid rate"),
            ("nanmbit", "is not a valid rate"),
            ("1e3mbit", "is not a valid rate"),
            (".5mbit", "is not a valid rate"),
            ("0.5bit", "whole bits"),
            ("999tbit", "100tbit"),
            ("1.2.3mbit", "is not a valid rate"),
        ] {
            let error = text.parse::<BitRate>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
