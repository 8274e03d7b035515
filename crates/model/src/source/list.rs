//! Lists, for which a single value may stand.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Spanned;

use super::{EMPTY, KEY, VALUE, refuse, refuse_at};
use crate::problem::Problem;

/// A list with no value twice, or a single value that stands for a list of one. Empty where the key
/// is absent.
#[derive(Debug, Clone)]
pub struct List<T> {
    values: Vec<T>,
    spans: Vec<Range<usize>>,
    at: usize,
}

impl<T> List<T> {
    /// Where it begins in the file.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The values with their places in the file.
    pub fn placed(&self) -> impl Iterator<Item = (&T, Range<usize>)> {
        self.values.iter().zip(self.spans.iter().cloned())
    }

    /// Whether there is none; for serde, which derefs nothing.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::from_iter([])
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    /// Wherever they stand.
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl<T: Eq> Eq for List<T> {}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self {
            values: values.into_iter().collect(),
            spans: Vec::new(),
            at: 0,
        }
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.values.as_slice() {
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
        let at = span.start;
        let Items { values, mut spans } = read.into_inner();
        if spans.is_empty() {
            spans.push(span);
        }
        Ok(Self { values, spans, at })
    }
}

/// What a list or the value in its stead has; without places of a single value.
struct Items<T> {
    values: Vec<T>,
    spans: Vec<Range<usize>>,
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
    let items = deserializer.deserialize_any(OneOrMany { single, of })?;
    Ok(items.values)
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
            None => Ok(Items {
                values: vec![T::deserialize(value)?],
                spans: Vec::new(),
            }),
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
            return Err(refuse(&Problem::new(what, remedy)));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = items.iter().find(|item| !seen.insert(item.get_ref())) {
            let problem = Problem::new(format!("{KEY} has {VALUE} twice"), "remove one of them");
            return Err(refuse_at(&problem, &twice.span()));
        }
        let items = items.into_iter();
        let (spans, values) = items.map(|item| (item.span(), item.into_inner())).unzip();
        Ok(Items { values, spans })
    }
}
