//! Numbers and strings, of which each kind says what it may be.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

use super::{KEY, VALUE, refuse};
use crate::bitrate::BitRate;
use crate::plan::{format_duration, parse_duration};
use crate::problem::Problem;

/// A value as the file has it.
#[derive(Debug, Clone, Copy)]
pub enum Raw<'t> {
    /// A whole number.
    Whole(i128),
    /// A number with a fraction, infinite or none at all.
    Real(f64),
    /// A string.
    Text(&'t str),
}

/// A kind of value.
pub trait Kind: Sized {
    /// What to write: `virtual CPUs of a guest, as in vcpus = [1, 2]`.
    const WANTED: &'static str;

    /// From what the file has; none of another type, else what is wrong with it.
    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>>;
}

/// What serde and the schema ask of a kind of value: how its schema begins, and what is written of it.
#[macro_export]
macro_rules! value_kind {
    ($name:ident, $schema:tt, |$value:ident| $written:expr) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::source::read_kind(deserializer)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                serde::Serialize::serialize(&$written, serializer)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

/// Kinds of whole numbers: name, lowest, highest, and what to write.
#[macro_export]
macro_rules! whole_numbers {
    ($($name:ident $low:literal to $high:expr, $wanted:literal;)+) => {
        $(#[doc = $wanted]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $crate::source::Kind for $name {
            const WANTED: &'static str = $wanted;

            fn of(raw: $crate::source::Raw<'_>) -> Option<Result<Self, $crate::Problem>> {
                let number = $crate::source::whole(raw, $low..=$high, $wanted)?;
                Some(number.map(Self))
            }
        }

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }

        impl From<$name> for u32 {
            fn from(number: $name) -> u32 {
                number.0
            }
        }

        $crate::value_kind!($name, { "type": "integer", "minimum": $low, "maximum": $high }, |number| number.0);)+
    };
}

/// A whole number within a range.
pub fn whole(
    raw: Raw<'_>,
    range: RangeInclusive<u32>,
    wanted: &str,
) -> Option<Result<u32, Problem>> {
    let Raw::Whole(number) = raw else {
        return None;
    };
    let number = u32::try_from(number).ok();
    let number = number.filter(|number| range.contains(number));
    Some(number.ok_or_else(|| {
        let (low, high) = range.into_inner();
        let what = format!("{KEY} = {VALUE} is outside {low} to {high}");
        Problem::new(what, format!("write {wanted}"))
    }))
}

/// A number that may have a fraction.
pub fn real(raw: Raw<'_>) -> Option<f64> {
    match raw {
        Raw::Whole(number) => Some(number as f64),
        // Without the sign of a negative zero.
        Raw::Real(number) => Some(number + 0.0),
        Raw::Text(_) => None,
    }
}

/// A string.
pub fn text<'t>(raw: Raw<'t>) -> Option<&'t str> {
    match raw {
        Raw::Text(text) => Some(text),
        _ => None,
    }
}

/// What has a unit, of which a number has none; `example` is the number with one.
fn with_unit<T, E>(
    raw: Raw<'_>,
    read: impl Fn(&str) -> Result<T, E>,
    problem: impl Fn(&E) -> Problem,
    example: &str,
) -> Option<Result<T, Problem>> {
    Some(match text(raw) {
        None => Err(Problem::new(
            format!("{KEY} = {VALUE} has no unit"),
            example,
        )),
        Some(text) => read(text).map_err(|error| {
            let problem = problem(&error);
            Problem::new(format!("{KEY} = {}", problem.what), problem.remedy)
        }),
    })
}

/// A duration with its unit: `30s`.
#[derive(Debug, Clone, Copy)]
pub struct Time(pub Duration);

impl Kind for Time {
    const WANTED: &'static str = "a duration in quotes, as in {key} = \"30s\"";

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        let example = "write a duration in quotes, as in {key} = \"{value}s\"";
        let time = with_unit(raw, parse_duration, |error| error.problem(), example)?;
        Some(time.map(Self))
    }
}

value_kind!(Time, { "type": "string" }, |time| format_duration(time.0));

/// A rate with its unit: `500mbit`.
#[derive(Debug, Clone, Copy)]
pub struct Rate(pub BitRate);

impl Kind for Rate {
    const WANTED: &'static str = "a rate in quotes, as in \"500mbit\"";

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        let example = "write a rate in quotes, as in \"{value}mbit\"";
        let rate = with_unit(raw, str::parse::<BitRate>, |error| error.problem(), example)?;
        Some(rate.map(Self))
    }
}

value_kind!(Rate, { "type": "string" }, |rate| rate.0.to_string());

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
        // Nobody sees what it is instead: that is told from the file.
        let wrong = || E::invalid_type(Unexpected::Other("a value"), &self);
        let read = T::of(raw).ok_or_else(wrong)?;
        read.map_err(|problem| refuse(&problem))
    }
}

impl<T: Kind> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WANTED)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.read(Raw::Whole(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.read(Raw::Whole(number.into()))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<T, E> {
        self.read(Raw::Whole(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.read(Raw::Real(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(Raw::Text(text))
    }
}
