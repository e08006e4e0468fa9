//! ClickHouse's functions, registered under the names that [`super::dialect`] gives them.
//!
//! The translation knows the types: what a function is given is of the type that it takes, NULL
//! where it may be, and a text of JSON where it is an array, a tuple or a map.

mod aggregate;
mod array;
pub(crate) mod convert;
mod json;
mod number;
mod pattern;
mod text;
mod time;

use std::borrow::Cow;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);
/// The longest text that a function may make of short ones, in bytes.
const MAX_MADE_BYTES: usize = 16 << 20;

/// A function of one row.
type Scalar = fn(&Arguments<'_>) -> Result<Value>;
/// Functions: name, number of arguments, code.
type Functions = &'static [(&'static str, i32, Scalar)];

/// Registers all of them.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let groups: [Functions; 7] = [
        text::FUNCTIONS,
        pattern::FUNCTIONS,
        number::FUNCTIONS,
        convert::FUNCTIONS,
        json::FUNCTIONS,
        array::FUNCTIONS,
        time::FUNCTIONS,
    ];
    for (name, arguments, function) in groups.into_iter().flatten().copied() {
        connection.create_scalar_function(name, arguments, FLAGS, move |context| {
            function(&Arguments { context })
        })?;
    }
    aggregate::register(connection)
}

/// The arguments of one call.
struct Arguments<'a> {
    context: &'a Context<'a>,
}

impl Arguments<'_> {
    fn len(&self) -> usize {
        self.context.len()
    }

    fn value(&self, at: usize) -> ValueRef<'_> {
        if at < self.context.len() { self.context.get_raw(at) } else { ValueRef::Null }
    }

    fn is_null(&self, at: usize) -> bool {
        self.value(at) == ValueRef::Null
    }

    /// As text: numbers as they are printed; `None` for NULL. Broken UTF-8 is mended.
    fn text(&self, at: usize) -> Option<Cow<'_, str>> {
        text_of(self.value(at))
    }

    /// The bytes of a text; `None` for NULL.
    fn bytes(&self, at: usize) -> Option<Cow<'_, [u8]>> {
        match self.value(at) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.into()),
            other => text_of(other).map(|text| text.into_owned().into_bytes().into()),
        }
    }

    fn whole(&self, at: usize) -> Option<i64> {
        number::whole(self.value(at))
    }

    fn float(&self, at: usize) -> Option<f64> {
        number::float(self.value(at))
    }
}

fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into()),
        ValueRef::Real(number) => Some(crate::format::float_text(number).into()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

/// A value of its own.
fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => text_or_bytes(bytes),
    }
}

/// A text; bytes where it was cut within a character, so that none of them is lost.
fn text_or_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Blob(bytes.to_owned()),
    }
}

fn truth(value: bool) -> Value {
    Value::Integer(value.into())
}

fn count(number: usize) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// What a function says of its arguments.
fn wrong(message: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(message.into().into())
}

/// A number that is too large for this engine.
fn too_large() -> rusqlite::Error {
    wrong("a whole number above 9223372036854775807; `--engine clickhouse` has room for it")
}

/// "Not a number" where NULL means something else.
fn no_nan() -> rusqlite::Error {
    wrong(
        "`nan` stands where NULL may stand, too, or in an array; `--engine clickhouse` keeps them apart",
    )
}
