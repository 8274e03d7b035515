//! Lists; a single value may stand for one.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Spanned;

use super::{EMPTY, KEY, VALUE, refuse, refuse_at};
use crate::problem::Problem;

/// A list with no value twice, or a single value that stands for a list of one. Empty where the key
/// is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T>(Vec<Spanned<T>>);

impl<T> List<T> {
    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(Spanned::get_ref)
    }

    /// The values with their places in the file.
    pub fn placed(&self) -> impl Iterator<Item = (&T, usize)> {
        self.0
            .iter()
            .map(|item| (item.get_ref(), item.span().start))
    }

    /// Where the first value is in the file; 0 where there is none.
    pub fn at(&self) -> usize {
        self.0.first().map_or(0, |item| item.span().start)
    }

    /// One of the values.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index).map(Spanned::get_ref)
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values = values.into_iter();
        Self(values.map(|value| Spanned::new(0..0, value)).collect())
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [value] => value.serialize(serializer),
            values => serializer.collect_seq(values),
        }
    }
}

/// Writes a list of lists, for which no single one may stand.
///
/// # Errors
/// Those of the serializer.
pub fn written_as_list<S, T>(list: &List<T>, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize,
{
    serializer.collect_seq(list.iter())
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "uniqueItems": true }]
        })
    }
}

impl<'de, T: Deserialize<'de> + Hash + Eq> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Spanned::<Items<T>>::deserialize(deserializer)?;
        let span = read.span();
        Ok(match read.into_inner() {
            Items::One(value) => Self(vec![Spanned::new(span, value)]),
            Items::Many(items) => Self(items),
        })
    }
}

enum Items<T> {
    One(T),
    Many(Vec<Spanned<T>>),
}

impl<'de, T: Deserialize<'de> + Hash + Eq> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (single, of) = (None, PhantomData);
        deserializer.deserialize_any(OneOrMany { single, of })
    }
}

/// Reads a list that is itself one of a list: a single value in its stead could mean either, and
/// is refused for this problem.
///
/// # Errors
/// When it is no list, is empty or has a value twice.
pub fn only_list<'de, D, T>(deserializer: D, single: &Problem) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Hash + Eq,
{
    let (single, of) = (Some(single), PhantomData);
    Ok(
        match deserializer.deserialize_any(OneOrMany { single, of })? {
            Items::One(value) => vec![value],
            Items::Many(items) => items.into_iter().map(Spanned::into_inner).collect(),
        },
    )
}

struct OneOrMany<'p, T> {
    /// What is wrong with a single value.
    single: Option<&'p Problem>,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> OneOrMany<'_, T> {
    fn one<D: Deserializer<'de>>(self, value: D) -> Result<Items<T>, D::Error> {
        match self.single {
            Some(problem) => Err(refuse(problem)),
            None => T::deserialize(value).map(Items::One),
        }
    }
}

macro_rules! single {
    ($($visit:ident $type:ty,)+) => {
        $(fn $visit<E: Error>(self, value: $type) -> Result<Self::Value, E> {
            self.one(value.into_deserializer())
        })+
    };
}

impl<'de, T: Deserialize<'de> + Hash + Eq> Visitor<'de> for OneOrMany<'_, T> {
    type Value = Items<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list")
    }

    single! {
        visit_bool bool,
        visit_i64 i64,
        visit_u64 u64,
        visit_i128 i128,
        visit_u128 u128,
        visit_f64 f64,
        visit_str &str,
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.one(MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<T>>()? {
            items.push(item);
        }
        if items.is_empty() {
            let [what, remedy] = EMPTY;
            return Err(refuse(&Problem::value(what, remedy)));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = items.iter().find(|item| !seen.insert(item.get_ref())) {
            let problem = Problem::value(format!("{KEY} has {VALUE} twice"), "remove one of them");
            return Err(refuse_at(&problem, &twice.span()));
        }
        drop(seen);
        Ok(Items::Many(items))
    }
}
