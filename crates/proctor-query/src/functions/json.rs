//! JSON: a path is a row of keys and of places from 1, negative ones from the end.

use std::borrow::Cow;
use std::fmt;

use rusqlite::Result;
use rusqlite::types::{Value, ValueRef};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value as Plain;

use super::{Arguments, Functions, array, convert, count, text_of, too_large, truth};
use crate::types::Type;

pub(super) const FUNCTIONS: Functions = &[
    ("json_part", 2, |a| {
        // For the views: text as it is, everything else as JSON.
        Ok(part(a, 0).map(|found| found.text()).unwrap_or_default().into())
    }),
    ("ch_json_string", -1, |a| {
        or_null(a, 0, |found| Ok(found.map(|found| found.text()).unwrap_or_default().into()))
    }),
    ("ch_json_int", -1, |a| {
        or_null(a, 0, |found| {
            Ok(Value::Integer(found.and_then(|found| found.whole(&Type::Int(64))).unwrap_or(0)))
        })
    }),
    ("ch_json_uint", -1, |a| {
        or_null(a, 0, |found| match found {
            Some(Json::UInt(_)) => Err(too_large()),
            found => Ok(Value::Integer(
                found.and_then(|found| found.whole(&Type::UInt(64))).unwrap_or(0),
            )),
        })
    }),
    ("ch_json_float", -1, |a| {
        or_null(a, 0, |found| Ok(Value::Real(found.and_then(|found| found.float()).unwrap_or(0.0))))
    }),
    ("ch_json_bool", -1, |a| {
        or_null(a, 0, |found| Ok(truth(found.and_then(|found| found.bool()).unwrap_or(false))))
    }),
    ("ch_json_raw", -1, |a| {
        or_null(a, 0, |found| Ok(found.map(|found| found.raw()).unwrap_or_default().into()))
    }),
    ("ch_json_has", -1, |a| or_null(a, 0, |found| Ok(truth(found.is_some())))),
    ("ch_json_length", -1, |a| {
        or_null(a, 0, |found| {
            Ok(count(match found {
                Some(Json::Array(items)) => items.len(),
                Some(Json::Object(members)) => members.len(),
                _ => 0,
            }))
        })
    }),
    ("ch_json_type", -1, |a| or_null(a, 0, |found| Ok(kind(found.as_ref()).to_owned().into()))),
    ("ch_json_array_raw", -1, |a| {
        or_null(a, 0, |found| {
            let items = match found {
                Some(Json::Array(items)) => items,
                _ => Vec::new(),
            };
            let raw: Vec<String> = items.iter().map(Json::raw).collect();
            Ok(array::texts(raw.iter().map(String::as_str)))
        })
    }),
    ("ch_json_keys", -1, |a| {
        or_null(a, 0, |found| {
            Ok(array::texts(members(found.as_ref()).iter().map(|(key, _)| key.as_str())))
        })
    }),
    ("ch_json_pairs_raw", -1, |a| {
        or_null(a, 0, |found| {
            let pairs =
                members(found.as_ref()).iter().map(|(key, value)| pair(key, value.raw().into()));
            Ok(array::text(&pairs.collect::<Vec<_>>()))
        })
    }),
    ("ch_json_pairs", -1, |a| {
        let ty = a.text(0).and_then(|ty| Type::read(&ty)).unwrap_or(Type::Nothing);
        or_null(a, 1, |found| {
            let pairs = members(found.as_ref());
            let pairs =
                pairs.iter().filter_map(|(key, value)| Some(pair(key, value.as_type(&ty)?)));
            Ok(array::text(&pairs.collect::<Vec<_>>()))
        })
    }),
    ("ch_json_extract", -1, |a| {
        let ty = a.text(0).and_then(|ty| Type::read(&ty)).unwrap_or(Type::Nothing);
        or_null(a, 1, |found| {
            let found = found.and_then(|found| found.as_type(&ty));
            Ok(array::value(&found.unwrap_or_else(|| default_of(&ty))))
        })
    }),
    ("ch_json_valid", 1, |a| {
        Ok(match a.text(0) {
            Some(text) => truth(serde_json::from_str::<IgnoredAny>(&text).is_ok()),
            None => Value::Null,
        })
    }),
    ("ch_simple_string", 2, |a| {
        Ok(simple(a, |raw| serde_json::from_str::<String>(raw).unwrap_or_default().into()))
    }),
    ("ch_simple_int", 2, |a| {
        Ok(simple(a, |raw| {
            let raw = raw.trim_matches('"');
            let end = raw.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(raw.len());
            Value::Integer(raw.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0))
        }))
    }),
    ("ch_simple_bool", 2, |a| Ok(simple(a, |raw| truth(raw.starts_with("true"))))),
    ("ch_simple_raw", 2, |a| Ok(simple(a, |raw| raw.to_owned().into()))),
    ("ch_simple_has", 2, |a| {
        Ok(match (a.text(0), a.text(1)) {
            (Some(text), Some(key)) => truth(simple_member(&text, &key).is_some()),
            _ => Value::Null,
        })
    }),
];

/// JSON that keeps the members of objects in order, also those of one name.
#[derive(Debug, Clone, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// Above the largest `Int`.
    UInt(u64),
    Float(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> std::result::Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Json, E> {
        Ok(Json::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Json, E> {
        Ok(i64::try_from(number).map_or(Json::UInt(number), Json::Int))
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<Json, E> {
        Ok(Json::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Json, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element()? {
            read.push(item);
        }
        Ok(Json::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Json, A::Error> {
        let mut read = Vec::new();
        while let Some(member) = members.next_entry()? {
            read.push(member);
        }
        Ok(Json::Object(read))
    }
}

impl Json {
    /// As ClickHouse writes JSON that it has read.
    fn raw(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(number) => out.push_str(&number.to_string()),
            Self::UInt(number) => out.push_str(&number.to_string()),
            Self::Float(number) => out.push_str(&crate::format::float_text(*number)),
            Self::Text(text) => write_text(text, out),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    write_text(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// As text: NULL as none.
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Null => String::new(),
            other => other.raw(),
        }
    }

    /// As a whole number; fractions are cut, texts are read.
    fn whole(&self, ty: &Type) -> Option<i64> {
        let number = match self {
            Self::Int(number) => *number,
            #[expect(clippy::cast_possible_truncation, reason = "checked")]
            Self::Float(number) if number.abs() < 9.2e18 => *number as i64,
            Self::Text(text) => match text.parse::<i64>() {
                Ok(number) => number,
                #[expect(clippy::cast_possible_truncation, reason = "checked")]
                Err(_) => text.parse::<f64>().ok().filter(|number| number.abs() < 9.2e18)? as i64,
            },
            _ => return None,
        };
        let text = number.to_string();
        convert::read_whole(&text, ty)
    }

    fn float(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "as in ClickHouse")]
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::UInt(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Int(number) => Some(*number != 0),
            _ => None,
        }
    }

    /// As a value of a type; `None` when it is none.
    fn as_type(&self, ty: &Type) -> Option<Plain> {
        Some(match ty {
            Type::Nullable(_) if *self == Self::Null => Plain::Null,
            Type::Nullable(plain) => return self.as_type(plain),
            Type::String if *self == Self::Null => return None,
            Type::String => self.text().into(),
            Type::Float => serde_json::Number::from_f64(self.float()?).map(Plain::Number)?,
            Type::Bool => i64::from(self.bool()?).into(),
            Type::UInt(_) | Type::Int(_) => self.whole(ty)?.into(),
            Type::Array(element) => match self {
                Self::Array(items) => items
                    .iter()
                    .map(|item| item.as_type(element).unwrap_or_else(|| default_of(element)))
                    .collect(),
                _ => return None,
            },
            Type::Tuple(types) => {
                let items: Vec<&Self> = match self {
                    Self::Array(items) => items.iter().collect(),
                    Self::Object(members) => members.iter().map(|(_, value)| value).collect(),
                    _ => return None,
                };
                let part = |(at, ty): (usize, &Type)| {
                    let found = items.get(at).and_then(|item| item.as_type(ty));
                    found.unwrap_or_else(|| default_of(ty))
                };
                types.iter().enumerate().map(part).collect()
            }
            Type::Map(key, value) if **key == Type::String => match self {
                Self::Object(members) => members
                    .iter()
                    .filter_map(|(key, member)| Some(pair(key, member.as_type(value)?)))
                    .collect(),
                _ => return None,
            },
            _ => return None,
        })
    }
}

fn pair(key: &str, value: Plain) -> Plain {
    Plain::Array(vec![key.into(), value])
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// What stands where nothing of the type was found.
fn default_of(ty: &Type) -> Plain {
    match ty {
        Type::Nullable(_) | Type::Nothing => Plain::Null,
        Type::String => "".into(),
        Type::Float => 0.0.into(),
        Type::Array(_) | Type::Map(..) => Plain::Array(Vec::new()),
        Type::Tuple(parts) => parts.iter().map(default_of).collect(),
        _ => 0.into(),
    }
}

fn kind(value: Option<&Json>) -> &'static str {
    match value {
        None | Some(Json::Null) => "Null",
        Some(Json::Bool(_)) => "Bool",
        Some(Json::Int(_)) => "Int64",
        Some(Json::UInt(_)) => "UInt64",
        Some(Json::Float(_)) => "Double",
        Some(Json::Text(_)) => "String",
        Some(Json::Array(_)) => "Array",
        Some(Json::Object(_)) => "Object",
    }
}

fn members(found: Option<&Json>) -> &[(String, Json)] {
    match found {
        Some(Json::Object(members)) => members,
        _ => &[],
    }
}

/// What is made of the part that the path leads to, with the text at `at` and the path after it;
/// NULL for a text that is NULL.
fn or_null(
    a: &Arguments<'_>,
    at: usize,
    make: impl FnOnce(Option<Json>) -> Result<Value>,
) -> Result<Value> {
    if a.is_null(at) { Ok(Value::Null) } else { make(part(a, at)) }
}

/// The part that the path leads to, with the text at `at` and the path after it; `None` when there is
/// none, or no JSON. What is beside the path is read over, and nothing is made of it: statements ask
/// this of every row.
fn part(a: &Arguments<'_>, at: usize) -> Option<Json> {
    let text = a.text(at)?;
    let path = (at + 1..a.len()).map(|at| match a.value(at) {
        ValueRef::Integer(place) => Some(Step::Place(place)),
        value => text_of(value).map(Step::Key),
    });
    walked(&text, &path.collect::<Option<Vec<Step<'_>>>>()?)
}

fn walked(text: &str, path: &[Step<'_>]) -> Option<Json> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let found = Walk { path }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    found
}

/// One step of a path.
enum Step<'a> {
    Key(Cow<'a, str>),
    /// From 1; negative ones from the end.
    Place(i64),
}

/// Reads a value, and keeps what the path leads to.
#[derive(Clone, Copy)]
struct Walk<'a> {
    path: &'a [Step<'a>],
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<Json>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        reader: D,
    ) -> std::result::Result<Option<Json>, D::Error> {
        match self.path.first() {
            None => Json::deserialize(reader).map(Some),
            // Places from the end are known when all is read.
            Some(Step::Place(place)) => {
                let value = Json::deserialize(reader)?;
                let rest = self.path.get(1..).unwrap_or_default();
                Ok(member(value, *place).and_then(|found| along(found, rest)))
            }
            Some(Step::Key(_)) => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<Json>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut members: A,
    ) -> std::result::Result<Option<Json>, A::Error> {
        let mut found = None;
        let Some((Step::Key(wanted), rest)) = self.path.split_first() else { return Ok(None) };
        // Of two members of one name the first one counts.
        let mut is_found = false;
        while let Some(is_wanted) = members.next_key_seed(Wanted(wanted))? {
            if is_wanted && !is_found {
                is_found = true;
                found = members.next_value_seed(Walk { path: rest })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut items: A,
    ) -> std::result::Result<Option<Json>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Option<Json>, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Option<Json>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Option<Json>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Option<Json>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Option<Json>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> std::result::Result<Option<Json>, E> {
        Ok(None)
    }
}

/// Reads a key, and says whether it is this one.
struct Wanted<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> std::result::Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Wanted<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> std::result::Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Where the rest of a path leads from a value.
fn along(value: Json, path: &[Step<'_>]) -> Option<Json> {
    path.iter().try_fold(value, |value, step| match (step, value) {
        (Step::Place(place), value) => member(value, *place),
        (Step::Key(key), Json::Object(members)) => {
            members.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
        }
        (Step::Key(_), _) => None,
    })
}

fn member(value: Json, place: i64) -> Option<Json> {
    let at = |length: usize| {
        let length = i64::try_from(length).ok()?;
        let at = if place < 0 { length.checked_add(place)? } else { place.checked_sub(1)? };
        usize::try_from(at).ok()
    };
    match value {
        Json::Array(mut items) => {
            let at = at(items.len()).filter(|at| *at < items.len())?;
            Some(items.swap_remove(at))
        }
        Json::Object(members) => {
            let at = at(members.len())?;
            members.into_iter().nth(at).map(|(_, value)| value)
        }
        _ => None,
    }
}

fn simple(a: &Arguments<'_>, make: impl FnOnce(&str) -> Value) -> Value {
    match (a.text(0), a.text(1)) {
        (Some(text), Some(key)) => make(simple_member(&text, &key).unwrap_or_default()),
        _ => Value::Null,
    }
}

/// The value that stands after `"key":`, wherever that is, as written: these functions of
/// ClickHouse do not read JSON, but look for it.
fn simple_member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let wanted = format!("\"{key}\":");
    let at = text.find(&wanted)? + wanted.len();
    let rest = text.get(at..)?;
    let (mut depth, mut in_text, mut is_escaped) = (0_i32, false, false);
    for (at, c) in rest.char_indices() {
        if in_text {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => in_text = true,
            '[' | '{' => depth += 1,
            ',' | ']' | '}' if depth == 0 => return rest.get(..at),
            ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json() -> impl Strategy<Value = Plain> {
        let leaf = prop_oneof![
            Just(Plain::Null),
            any::<bool>().prop_map(Plain::from),
            any::<i64>().prop_map(Plain::from),
            any::<f64>().prop_map(Plain::from),
            "[a-c\"\\\\é]{0,3}".prop_map(Plain::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Plain::from),
                prop::collection::btree_map("[a-c\"é]{0,2}", inner, 0..4)
                    .prop_map(|members| Plain::Object(members.into_iter().collect())),
            ]
        })
    }

    fn path() -> impl Strategy<Value = Vec<Step<'static>>> {
        let step = prop_oneof![
            "[a-c\"é]{0,2}".prop_map(|key| Step::Key(key.into())),
            (-4_i64..5).prop_map(Step::Place),
        ];
        prop::collection::vec(step, 0..4)
    }

    impl fmt::Debug for Step<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Key(key) => write!(f, "{key:?}"),
                Self::Place(place) => write!(f, "{place}"),
            }
        }
    }

    proptest! {
        #[test]
        fn reading_over_what_is_beside_finds_what_reading_all_finds(value in json(), path in path()) {
            let whole: Json = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(walked(&value.to_string(), &path), along(whole, &path));
        }

        #[test]
        fn what_is_no_json_has_no_parts(value in json(), path in path(), rest in "[\\]}x,]{1,2}") {
            prop_assert_eq!(walked(&format!("{value}{rest}"), &path), None);
        }

        #[test]
        fn what_was_read_is_written_as_the_same(value in json()) {
            let read: Json = serde_json::from_str(&value.to_string()).unwrap();
            let again: Json = serde_json::from_str(&read.raw()).unwrap();
            // Fractions without a part are written as whole numbers.
            prop_assert_eq!(again.raw(), read.raw());
        }
    }

    #[test]
    fn of_two_members_of_one_name_the_first_counts() {
        let path = [Step::Key("a".into())];
        assert_eq!(walked(r#"{"a":1,"b":[{"a":3}],"a":2}"#, &path), Some(Json::Int(1)));
    }
}
