//! JSON values that borrow from the text they were read from.
//!
//! Unlike `serde_json::Value`, a [`Json`] keeps numbers as they were written and costs no copy of a
//! string without escapes. It is what recorded runs are read into, compared in and echoed from.

mod canonical;
pub mod go;
mod number;

use std::borrow::Cow;
use std::cmp::Ordering;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

pub use canonical::canonical;
pub use number::{Number, number_text};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written.
    Number(Number<'a>),
    /// A string with its escapes resolved.
    String(Cow<'a, str>),
    /// A list.
    Array(Vec<Json<'a>>),
    /// An object.
    Object(Object<'a>),
}

impl<'a> Json<'a> {
    /// The value under `key`, when this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Self::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// The text, when this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Numbers become literals of the shortest text that keeps their value.
impl From<&serde_json::Value> for Json<'static> {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::Number(Number::written(number.to_string())),
            serde_json::Value::String(text) => Self::String(Cow::Owned(text.clone())),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Into::into).collect()),
            serde_json::Value::Object(members) => Self::Object(members.into()),
        }
    }
}

/// Integers that 64 bits hold stay integers; every other number becomes a double.
impl From<&Json<'_>> for serde_json::Value {
    fn from(value: &Json<'_>) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => number.to_serde(),
            Json::String(text) => Self::String(text.clone().into_owned()),
            Json::Array(items) => Self::Array(items.iter().map(Into::into).collect()),
            Json::Object(object) => Self::Object(
                object
                    .members()
                    .iter()
                    .map(|(key, value)| (key.to_string(), value.into()))
                    .collect(),
            ),
        }
    }
}

/// Numbers are written as they were read, object keys in the order of [`Object`].
impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.members().len()))?;
                for (key, value) in object.members() {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// Any value.
impl JsonSchema for Json<'_> {
    fn schema_name() -> Cow<'static, str> {
        "json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// Members in the order of RFC 8785: by the UTF-16 code units of their keys. Equal keys stay side
/// by side, in the order of the text; readers see the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Object<'a> {
    /// The object with these members, given in any order.
    pub fn new(mut members: Vec<(Cow<'a, str>, Json<'a>)>) -> Self {
        if !members.is_sorted_by(|(a, _), (b, _)| utf16_order(a, b).is_le()) {
            members.sort_by(|(a, _), (b, _)| utf16_order(a, b));
        }
        Self(members)
    }

    /// Every member.
    pub fn members(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        &self.0
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        let at = self.0.partition_point(|(other, _)| utf16_order(other, key).is_lt());
        self.0.get(at).filter(|(found, _)| found == key).map(|(_, value)| value)
    }

    /// Whether two members have the same key.
    pub fn has_duplicates(&self) -> bool {
        self.0.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b))
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Object<'static> {
    fn from(members: &serde_json::Map<String, serde_json::Value>) -> Self {
        Self::new(
            members.iter().map(|(key, value)| (Cow::Owned(key.clone()), value.into())).collect(),
        )
    }
}

/// The order of the UTF-16 code units. It is the order of the bytes but for one thing: characters
/// above U+FFFF come before U+E000 to U+FFFF, since they begin with a surrogate.
fn utf16_order(a: &str, b: &str) -> Ordering {
    let (left, right) = (a.as_bytes(), b.as_bytes());
    let same = left.iter().zip(right).take_while(|(x, y)| x == y).count();
    match (left.get(same), right.get(same)) {
        // Both begin a character: 0xEE that of U+E000 and up, 0xF0 that of U+10000 and up.
        (Some(x @ 0xee..), Some(y @ 0xee..)) if (*x >= 0xf0) != (*y >= 0xf0) => y.cmp(x),
        (x, y) => x.cmp(&y),
    }
}

#[cfg(test)]
mod tests;
