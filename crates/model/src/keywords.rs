//! Enums whose variants are words, and the nearest word to an unknown one.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Not one of the words that there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown word {0:?}")]
pub struct UnknownKeyword(pub String);

/// An enum whose variants are words, the same in plans, names and JSON.
macro_rules! keywords {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$of])* #[schemars(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];
            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// As plans write it.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The one with this word.
            pub fn of(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.word() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::keywords::read(deserializer, &Self::ALL, Self::WORDS)
            }
        }
    };
}

pub(crate) use keywords;

/// Schemas of types that are text in plans and JSON: what may be written.
macro_rules! text_schema {
    ($($name:ident $about:literal,)+) => {
        $(impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "description": $about, "type": "string" })
            }
        })+
    };
}

pub(crate) use text_schema;

/// The one of `all` whose word it is; `words` are theirs in the same order.
pub(crate) fn read<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    all: &'static [T],
    words: &'static [&'static str],
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Word { all, words })
}

struct Word<T: 'static> {
    all: &'static [T],
    words: &'static [&'static str],
}

impl<T: Copy> Visitor<'_> for Word<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {} in quotes", self.words.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        let mut known = self.all.iter().zip(self.words);
        known
            .find_map(|(value, known)| (*known == word).then_some(*value))
            .ok_or_else(|| E::unknown_variant(word, self.words))
    }
}

/// Jaro-Winkler similarity from which a known word counts as the one meant. At 0.8 a missing
/// letter, a swapped pair or a lost plural is found and unrelated words are not.
const NEAR: f64 = 0.8;

/// What to write instead of `word`: the nearest of `known`, or all of them.
pub(crate) fn instead(word: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied())
        .map(|near| format!("did you mean \"{near}\"?"))
        .unwrap_or_else(|| format!("write one of {}", known.join(", ")))
}

/// The nearest of `known`, where one is near.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .map(|(_, candidate)| candidate)
}
