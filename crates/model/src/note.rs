//! Notes: what a reader should know about a number, as values.
//!
//! A note is a variant with its data; its sentence is made of them in one place, [`Note`]'s `Display`. Every
//! kind of note has a stable [`Code`], which `docs/reference/notes.md` and `nicety explain` describe.

#[macro_use]
mod area;
mod code;
mod compare;
mod facts;
mod guest;
mod machine;
mod page;
mod path;
mod run;
mod search;
mod sock;
mod trial;
mod words;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use code::{Code, List, RECORDED, Severity};
pub use compare::CompareNote;
pub use facts::FactsNote;
pub use guest::{GuestNic, GuestNote, Shared, ThreadPlace};
pub use machine::{MachineNote, Refused, RestTimes, RestTried};
pub use page::{NotePage, pages};
pub use path::{DpdkInterfaces, DpdkSwitch, OvsSwitch, PathNote};
pub use run::RunNote;
pub use search::{HeldBelow, Percentiles, SearchNote, SetApart, SpeedGroup};
pub use sock::{End, SockNote};
pub use trial::TrialNote;

/// Everything that the areas have in common.
macro_rules! areas {
    ($($(#[$about:meta])* $area:ident($type:ty),)+) => {
        /// What a reader should know about a number, by the part of the program that knows it.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Note {
            /// A sentence of a run whose notes had no codes, or of a newer version.
            Recorded(String),
            $($(#[$about])* $area($type),)+
        }

        $(impl From<$type> for Note {
            fn from(note: $type) -> Self {
                Self::$area(note)
            }
        })+

        impl Note {
            /// What kind of note it is.
            pub fn code(&self) -> Code {
                match self {
                    Self::Recorded(_) => RECORDED,
                    $(Self::$area(note) => note.code(),)+
                }
            }

            /// The sentences without those that advise.
            pub fn reason(&self) -> Cow<'_, str> {
                match self {
                    Self::Recorded(text) => text.into(),
                    $(Self::$area(note) => note.reason().into(),)+
                }
            }

            /// What to do, where the note says so: a sentence of its own.
            pub fn advice(&self) -> Option<&'static str> {
                match self {
                    Self::Recorded(_) => None,
                    $(Self::$area(note) => note.advice(),)+
                }
            }

            fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    Self::Recorded(_) => Ok(()),
                    $(Self::$area(note) => note.entries(map),)+
                }
            }

            /// The note with this code and this data.
            fn of(code: &str, value: Value) -> Option<Self> {
                $(if <$type>::CODES.iter().any(|known| known.code == code) {
                    return serde_json::from_value(value).ok().map(Self::$area);
                })+
                None
            }
        }

        impl Code {
            /// Every code, in order.
            pub fn all() -> impl Iterator<Item = Code> {
                const AREAS: &[&[Code]] = &[$(<$type>::CODES),+];
                std::iter::once(RECORDED).chain(AREAS.iter().copied().flatten().copied())
            }
        }
    };
}

areas! {
    /// CPUs, stalls, rests, engines and the tester's limits.
    Machine(MachineNote),
    /// The path that was built or found.
    Path(PathNote),
    /// Guests on the path.
    Guest(GuestNote),
    /// One trial.
    Trial(TrialNote),
    /// What the search found, and what its number is worth.
    Search(SearchNote),
    /// Socket tests.
    Sock(SockNote),
    /// Facts of a host.
    Facts(FactsNote),
    /// A run as a whole, and its files.
    Run(RunNote),
    /// Runs beside each other.
    Compare(CompareNote),
}

impl Note {
    /// What it does to the number; one of an end of a socket test does what the note itself does.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Sock(SockNote::At { note, .. }) => note.severity(),
            _ => self.code().severity,
        }
    }

    /// Which of a report's lists it stands in; one of an end of a socket test where the note itself does.
    pub fn list(&self) -> List {
        match self {
            Self::Sock(SockNote::At { note, .. }) => note.list(),
            _ => self.code().list,
        }
    }

    /// The sentences of `notes`.
    pub fn texts(notes: &[Self]) -> Vec<String> {
        notes.iter().map(Self::to_string).collect()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sentences(f, &self.reason(), self.advice())
    }
}

/// Writes the sentences, those that advise last.
fn write_sentences(f: &mut fmt::Formatter<'_>, reason: &str, advice: Option<&str>) -> fmt::Result {
    f.write_str(reason)?;
    advice.map_or(Ok(()), |advice| write!(f, " {advice}"))
}

impl Serialize for Note {
    /// `code`, `name`, `severity` and `text`, then the data.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let code = self.code();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", code.code)?;
        map.serialize_entry("name", code.name)?;
        map.serialize_entry("severity", &self.severity())?;
        map.serialize_entry("text", &self.to_string())?;
        self.entries(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Note {
    /// Also from the plain sentence of an older version. A code or data of a newer version leave the
    /// sentence.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::String(text) => return Ok(Self::Recorded(text)),
            value => value,
        };
        let word = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let (code, text) = (word("code"), word("text"));
        code.and_then(|code| Self::of(&code, value))
            .or(text.map(Self::Recorded))
            .ok_or_else(|| D::Error::custom("a note is a sentence, or an object with its text"))
    }
}

impl JsonSchema for Note {
    fn schema_name() -> Cow<'static, str> {
        "Note".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let severity = generator.subschema_for::<Severity>();
        json_schema!({
            "description": "What a reader should know about a number: docs/reference/notes.md has every code. \
                The other keys are the note's data, by code. In files of older versions a note is its text alone.",
            "type": ["object", "string"],
            "properties": {
                "code": { "type": "string", "pattern": "^N[0-9]{3}$" },
                "name": { "type": "string" },
                "severity": severity,
                "text": { "type": "string", "description": "The sentences." },
            },
            "required": ["code", "name", "severity", "text"],
        })
    }
}
