//! Numbers and strings, each with its allowed values.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serialize, Serializer};

use super::{KEY, VALUE, refuse};
use crate::bitrate::{BitRate, BitRateError};
use crate::plan::{format_duration, parse_duration};
use crate::problem::Problem;

/// A value as the file has it.
#[derive(Debug, Clone, Copy)]
pub enum Raw<'t> {
    /// A whole number.
    Integer(i128),
    /// A number with a fraction, infinite or none at all.
    Real(f64),
    /// A string.
    Text(&'t str),
}

/// Why a value is not of a kind.
#[derive(Debug)]
pub enum Wrong {
    /// It is of another type.
    Type,
    /// It is of the type, and something else is wrong.
    Value(Problem),
}

impl Wrong {
    /// From both halves of the problem.
    pub fn value(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Value(Problem::value(what, remedy))
    }
}

impl<'t> Raw<'t> {
    /// A whole number within a range.
    ///
    /// # Errors
    /// When it is none, or outside.
    pub fn integer(self, range: RangeInclusive<u32>, wanted: &str) -> Result<u32, Wrong> {
        let Self::Integer(number) = self else {
            return Err(Wrong::Type);
        };
        let number = u32::try_from(number).ok();
        let number = number.filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (low, high) = range.into_inner();
            let what = format!("{KEY} = {VALUE} is outside {low} to {high}");
            Wrong::value(what, format!("write {wanted}"))
        })
    }

    /// A number that may have a fraction, without the sign of a negative zero.
    ///
    /// # Errors
    /// When it is none.
    pub fn real(self) -> Result<f64, Wrong> {
        match self {
            Self::Integer(number) => Ok(number as f64),
            Self::Real(number) => Ok(number + 0.0),
            Self::Text(_) => Err(Wrong::Type),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(self) -> Result<&'t str, Wrong> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(Wrong::Type),
        }
    }

    /// A string with a unit, which a number has not; `remedy` is for a number.
    fn with_unit<T, E>(
        self,
        read: impl Fn(&str) -> Result<T, E>,
        problem: impl Fn(&E) -> Problem,
        remedy: &str,
    ) -> Result<T, Wrong> {
        let unit = || Wrong::value(format!("{KEY} = {VALUE} has no unit"), remedy);
        read(self.text().map_err(|_| unit())?).map_err(|error| {
            let problem = problem(&error);
            Wrong::Value(Problem {
                what: format!("{KEY} = {}", problem.what),
                ..problem
            })
        })
    }
}

/// A kind of value.
pub trait Kind: Sized {
    /// What to write: `virtual CPUs of a guest, as in vcpus = [1, 2]`.
    const WANTED: &'static str;

    /// From what the file has.
    ///
    /// # Errors
    /// When it is not of the kind.
    fn of(raw: Raw<'_>) -> Result<Self, Wrong>;
}

/// Makes a type a kind of value: the type, what to write, and how it is read from [`Raw`].
#[macro_export]
macro_rules! kind {
    ($name:ident, $wanted:expr, $read:expr) => {
        impl $crate::source::Kind for $name {
            const WANTED: &'static str = $wanted;

            fn of(raw: $crate::source::Raw<'_>) -> Result<Self, $crate::source::Wrong> {
                let read: fn($crate::source::Raw<'_>) -> Result<Self, $crate::source::Wrong> =
                    $read;
                read(raw)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::source::read_kind(deserializer)
            }
        }
    };
}

/// Kinds of whole numbers: name, lowest, highest, and what to write.
#[macro_export]
macro_rules! integers {
    ($($name:ident $low:literal to $high:expr, $wanted:literal;)+) => {
        $(#[doc = $wanted]
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema,
        )]
        pub struct $name(#[schemars(range(min = $low, max = $high))] pub u32);

        $crate::kind!($name, $wanted, |raw| raw.integer($low..=$high, $wanted).map(Self));

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }

        impl From<$name> for u32 {
            fn from(number: $name) -> u32 {
                number.0
            }
        })+
    };
}

/// A duration with its unit: `30s`.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub struct Time(#[schemars(with = "String")] pub Duration);

kind!(Time, "a duration in quotes, as in {key} = \"30s\"", |raw| {
    let remedy = "write a duration in quotes, as in {key} = \"{value}s\"";
    let time = raw.with_unit(parse_duration, |error| error.problem(), remedy);
    time.map(Self)
});

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_duration(self.0))
    }
}

/// A rate with its unit: `500mbit`.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub struct Rate(#[schemars(with = "String")] pub BitRate);

kind!(Rate, "a rate in quotes, as in \"500mbit\"", |raw| {
    let remedy = "write a rate in quotes, as in \"{value}mbit\"";
    let rate = raw.with_unit(str::parse, BitRateError::problem, remedy);
    rate.map(Self)
});

/// Reads a value of a kind, for serde.
///
/// # Errors
/// When it is not of the kind.
pub fn read_kind<'de, D: Deserializer<'de>, T: Kind>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Reader(PhantomData))
}

struct Reader<T>(PhantomData<T>);

impl<T: Kind> Reader<T> {
    fn read<E: Error>(self, raw: Raw<'_>) -> Result<T, E> {
        T::of(raw).map_err(|wrong| match wrong {
            // Nobody sees what it is instead: that is told from the file.
            Wrong::Type => E::invalid_type(Unexpected::Other("a value"), &self),
            Wrong::Value(problem) => refuse(&problem),
        })
    }
}

impl<T: Kind> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WANTED)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.read(Raw::Integer(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.read(Raw::Integer(number.into()))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<T, E> {
        self.read(Raw::Integer(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.read(Raw::Real(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(Raw::Text(text))
    }
}
