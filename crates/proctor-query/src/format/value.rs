//! Values, and how ClickHouse writes them.

use std::borrow::Cow;
use std::fmt::Write as _;

use rusqlite::types::ValueRef;
use serde_json::Value as Json;

use crate::answer::Cell;
use crate::calendar::{date_text, date_time_text};
use crate::types::Type;

/// One value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A `Bool`.
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// A fraction; may be infinite or no number.
    Float(f64),
    /// A text. Broken UTF-8 stands as U+FFFD.
    Text(String),
    /// Days since 1970.
    Date(i64),
    /// A time since 1970 in UTC, in units of which a second has ten to the power of the digits.
    Time {
        /// The units.
        ticks: i64,
        /// The digits of the second; 0 for `DateTime`.
        digits: u8,
    },
    /// An array.
    Array(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A map, in order.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// Reads a part of an array or a tuple, which is kept as JSON; `None` when it is not of that
    /// type.
    #[must_use]
    pub fn of_json(value: &Json, ty: &Type) -> Option<Self> {
        if value.is_null() {
            return ty.is_nullable().then_some(Self::Null);
        }
        Some(match (ty.plain(), value) {
            (Type::Float, _) => Self::Float(value.as_f64()?),
            (Type::Bool, _) => Self::Bool(value.as_bool().or(value.as_i64().map(|n| n != 0))?),
            (Type::String, Json::String(text)) => Self::Text(text.clone()),
            (Type::Array(element), Json::Array(items)) => Self::Array(
                items.iter().map(|item| Self::of_json(item, element)).collect::<Option<_>>()?,
            ),
            (Type::Tuple(types), Json::Array(items)) if types.len() == items.len() => Self::Tuple(
                items
                    .iter()
                    .zip(types)
                    .map(|(item, ty)| Self::of_json(item, ty))
                    .collect::<Option<_>>()?,
            ),
            (Type::Map(key, value), Json::Array(pairs)) => Self::Map(
                pairs
                    .iter()
                    .map(|pair| {
                        let key = Self::of_json(pair.get(0)?, key)?;
                        Some((key, Self::of_json(pair.get(1)?, value)?))
                    })
                    .collect::<Option<_>>()?,
            ),
            (plain, _) => Self::of_whole(value.as_i64()?, plain)?,
        })
    }

    /// A value of an answer; `None` when it is not of that type.
    #[must_use]
    pub fn of_cell(cell: &Cell<'_>, ty: &Type) -> Option<Self> {
        match cell {
            // SQLite has no "not a number".
            Cell::Null if *ty == Type::Float => Some(Self::Float(f64::NAN)),
            Cell::Null => ty.is_nullable().then_some(Self::Null),
            Cell::Whole(number) => Self::of_whole(*number, ty.plain()),
            Cell::Float(number) => (*ty.plain() == Type::Float).then_some(Self::Float(*number)),
            Cell::Text(text) if *ty.plain() == Type::String => Some(Self::Text(text.to_string())),
            Cell::Text(text) => Self::of_json(&serde_json::from_str(text).ok()?, ty),
        }
    }

    /// A value of SQLite; `None` when it is not of that type.
    pub(crate) fn of_sqlite(value: ValueRef<'_>, ty: &Type) -> Option<Self> {
        let cell = match value {
            ValueRef::Null => return Some(Self::Null),
            ValueRef::Integer(number) => Cell::Whole(number),
            ValueRef::Real(number) => Cell::Float(number),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                Cell::Text(String::from_utf8_lossy(text))
            }
        };
        Self::of_cell(&cell, ty)
    }

    /// A value that is kept as a whole number.
    #[must_use]
    pub fn of_whole(number: i64, ty: &Type) -> Option<Self> {
        Some(match ty {
            Type::Bool => Self::Bool(number != 0),
            Type::UInt(_) | Type::Int(_) => Self::Whole(number),
            Type::Date => Self::Date(number),
            Type::DateTime => Self::Time { ticks: number, digits: 0 },
            Type::DateTime64(digits) => Self::Time { ticks: number, digits: *digits },
            _ => return None,
        })
    }

    /// The value as JSON, as ClickHouse writes it in `JSONEachRow`.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Float(number) if !number.is_finite() => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Whole(number) => _ = write!(out, "{number}"),
            Self::Float(number) => out.push_str(&float_text(*number)),
            Self::Text(text) => json_text(text, out),
            Self::Date(_) | Self::Time { .. } => json_text(&self.text(), out),
            Self::Array(cells) | Self::Tuple(cells) => {
                out.push('[');
                separated(cells, out, Self::write_json);
                out.push(']');
            }
            Self::Map(pairs) => {
                out.push('{');
                separated(pairs, out, |(key, value), out| {
                    json_text(&key.text(), out);
                    out.push(':');
                    value.write_json(out);
                });
                out.push('}');
            }
        }
    }

    /// The value as a plain text: what `toString` gives.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Null => "NULL".into(),
            Self::Bool(value) => if *value { "true" } else { "false" }.into(),
            Self::Whole(number) => number.to_string().into(),
            Self::Float(number) => float_text(*number).into(),
            Self::Date(days) => date_text(*days).into(),
            Self::Time { ticks, digits } => date_time_text(*ticks, *digits).into(),
            Self::Array(_) | Self::Tuple(_) | Self::Map(_) => {
                let mut out = String::new();
                self.write_literal(&mut out);
                out.into()
            }
        }
    }

    /// The value as it stands within an array: texts and times in quotes.
    pub fn write_literal(&self, out: &mut String) {
        match self {
            Self::Text(text) => {
                out.push('\'');
                escape(text, out);
                out.push('\'');
            }
            Self::Date(_) | Self::Time { .. } => {
                out.push('\'');
                out.push_str(&self.text());
                out.push('\'');
            }
            Self::Array(cells) => {
                out.push('[');
                separated(cells, out, Self::write_literal);
                out.push(']');
            }
            Self::Tuple(cells) => {
                out.push('(');
                separated(cells, out, Self::write_literal);
                out.push(')');
            }
            Self::Map(pairs) => {
                out.push('{');
                separated(pairs, out, |(key, value), out| {
                    key.write_literal(out);
                    out.push(':');
                    value.write_literal(out);
                });
                out.push('}');
            }
            other => out.push_str(&other.text()),
        }
    }
}

fn separated<T>(items: &[T], out: &mut String, write: impl Fn(&T, &mut String)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(item, out);
    }
}

/// A text in TSV and between quotes.
pub(crate) fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            other => out.push(other),
        }
    }
}

/// A text in JSON, with the escapes of ClickHouse, which also has one for `/`.
pub(crate) fn json_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '"' => out.push_str("\\\""),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c if c < ' ' => _ = write!(out, "\\u{:04X}", u32::from(c)),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A fraction in the fewest digits that read back as it; whole ones without a point, and those of
/// more than 21 or less than a millionth with an exponent.
#[must_use]
pub(crate) fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if number != 0.0 && !(1e-6..1e21).contains(&number.abs()) {
        return format!("{number:e}");
    }
    format!("{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_written_as_clickhouse_writes_them() {
        for (number, expected) in [
            (0.1 + 0.2, "0.30000000000000004"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1e-5, "0.00001"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (3.0, "3"),
            (-0.0, "-0"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
            (1.5e300, "1.5e300"),
        ] {
            assert_eq!(float_text(number), expected);
        }
    }

    #[test]
    fn texts_are_escaped_as_clickhouse_escapes_them() {
        let mut out = String::new();
        json_text("a/b\"\\\n\u{1}é\u{2028}", &mut out);
        assert_eq!(out, "\"a\\/b\\\"\\\\\\n\\u0001é\\u2028\"");
        let cell = Value::Tuple(vec![Value::Whole(1), Value::Text("a'b".to_owned()), Value::Null]);
        assert_eq!(cell.text(), "(1,'a\\'b',NULL)");
    }
}
