//! Types of values, as ClickHouse has them and as far as this crate needs them.

use std::fmt;

/// The type of a column or of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Type {
    /// The type of NULL and of the elements of `[]`.
    Nothing,
    /// `Bool`.
    Bool,
    /// `UInt8` to `UInt64`, of this many bits.
    UInt(u8),
    /// `Int8` to `Int64`, of this many bits.
    Int(u8),
    /// `Float64`.
    Float,
    /// `String`.
    #[default]
    String,
    /// `Date`: days since 1970.
    Date,
    /// `DateTime`: seconds since 1970, in UTC.
    DateTime,
    /// `DateTime64` with so many digits of the second, in UTC.
    DateTime64(u8),
    /// `Array`.
    Array(Box<Type>),
    /// `Tuple`.
    Tuple(Vec<Type>),
    /// `Map`.
    Map(Box<Type>, Box<Type>),
    /// A type with NULL.
    Nullable(Box<Type>),
}

/// The deepest type that is read from a text.
const MAX_DEPTH: usize = 8;

impl Type {
    /// The type of counts.
    pub const COUNT: Self = Self::UInt(64);
    /// The type of answers to yes and no.
    pub const TRUTH: Self = Self::UInt(8);

    /// An array of these.
    #[must_use]
    pub fn array(element: Self) -> Self {
        Self::Array(Box::new(element))
    }

    /// This type with NULL, where ClickHouse allows that.
    #[must_use]
    pub fn nullable(self) -> Self {
        match self {
            Self::Nullable(_) | Self::Array(_) | Self::Tuple(_) | Self::Map(..) => self,
            plain => Self::Nullable(Box::new(plain)),
        }
    }

    /// With NULL when `yes`.
    #[must_use]
    pub fn nullable_if(self, yes: bool) -> Self {
        if yes { self.nullable() } else { self }
    }

    /// This type without NULL.
    #[must_use]
    pub fn plain(&self) -> &Self {
        match self {
            Self::Nullable(inner) => inner,
            other => other,
        }
    }

    /// Whether values may be NULL.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        matches!(self, Self::Nullable(_) | Self::Nothing)
    }

    /// Whether it is a whole number.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::UInt(_) | Self::Int(_) | Self::Bool)
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.is_whole() || *self == Self::Float
    }

    /// Whether it is a day or a time.
    #[must_use]
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Date | Self::DateTime | Self::DateTime64(_))
    }

    /// Whether it is kept as JSON.
    #[must_use]
    pub fn is_compound(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Tuple(_) | Self::Map(..))
    }

    /// The smallest type that holds both; `None` when there is none.
    #[must_use]
    pub fn common(&self, other: &Self) -> Option<Self> {
        if self == other {
            return Some(self.clone());
        }
        let with_null = self.is_nullable() || other.is_nullable();
        let common = match (self.plain(), other.plain()) {
            (Self::Nothing, kept) | (kept, Self::Nothing) => kept.clone(),
            (Self::Array(one), Self::Array(two)) => {
                // The elements of `[]` are no NULLs.
                return match (&**one, &**two) {
                    (Self::Nothing, kept) | (kept, Self::Nothing) => {
                        Some(Self::array(kept.clone()))
                    }
                    (one, two) => one.common(two).map(Self::array),
                };
            }
            (Self::Tuple(one), Self::Tuple(two)) if one.len() == two.len() => {
                let parts = one.iter().zip(two).map(|(one, two)| one.common(two));
                Self::Tuple(parts.collect::<Option<_>>()?)
            }
            (one, two) if one == two => one.clone(),
            (one, two) if one.is_number() && two.is_number() => common_number(one, two)?,
            (Self::Date, Self::DateTime) | (Self::DateTime, Self::Date) => Self::DateTime,
            (Self::DateTime64(one), Self::DateTime64(two)) => Self::DateTime64(*one.max(two)),
            (Self::DateTime64(digits), Self::Date | Self::DateTime)
            | (Self::Date | Self::DateTime, Self::DateTime64(digits)) => Self::DateTime64(*digits),
            _ => return None,
        };
        Some(common.nullable_if(with_null))
    }

    /// Reads what [`Type`] writes: `Array(Nullable(Int64))`; `None` when it is not known here.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::read_within(text, MAX_DEPTH)
    }

    fn read_within(text: &str, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let text = text.trim();
        if let Some((name, rest)) = text.split_once('(') {
            let inner = rest.strip_suffix(')')?;
            return match name.trim() {
                "Array" => Self::read_within(inner, depth).map(Self::array),
                "Nullable" => Self::read_within(inner, depth)
                    .filter(|plain| !plain.is_compound() && !plain.is_nullable())
                    .map(Self::nullable),
                "LowCardinality" => Self::read_within(inner, depth),
                "Tuple" => {
                    let parts = split(inner).map(|part| Self::read_within(part, depth));
                    parts.collect::<Option<Vec<_>>>().map(Self::Tuple)
                }
                "Map" => {
                    let mut parts = split(inner).map(|part| Self::read_within(part, depth));
                    match (parts.next()??, parts.next()??, parts.next()) {
                        (key, value, None) => Some(Self::Map(Box::new(key), Box::new(value))),
                        _ => None,
                    }
                }
                "DateTime" => is_utc(inner).then_some(Self::DateTime),
                "DateTime64" => {
                    let mut parts = inner.splitn(2, ',');
                    let digits = parts.next()?.trim().parse().ok().filter(|digits| *digits <= 9)?;
                    parts.next().is_none_or(is_utc).then_some(Self::DateTime64(digits))
                }
                _ => None,
            };
        }
        Some(match text {
            "UInt8" => Self::UInt(8),
            "UInt16" => Self::UInt(16),
            "UInt32" => Self::UInt(32),
            "UInt64" => Self::UInt(64),
            "Int8" => Self::Int(8),
            "Int16" => Self::Int(16),
            "Int32" => Self::Int(32),
            "Int64" => Self::Int(64),
            "Float64" => Self::Float,
            "String" => Self::String,
            "Bool" => Self::Bool,
            "Date" => Self::Date,
            "DateTime" => Self::DateTime,
            "DateTime64" => Self::DateTime64(3),
            "Nothing" => Self::Nothing,
            // Names of other systems, which ClickHouse takes in any case.
            other => match other.to_ascii_uppercase().as_str() {
                "TINYINT" | "INT8" => Self::Int(8),
                "SMALLINT" | "INT16" => Self::Int(16),
                "INT" | "INTEGER" | "INT32" => Self::Int(32),
                "BIGINT" | "INT64" => Self::Int(64),
                "DOUBLE" | "FLOAT64" => Self::Float,
                "VARCHAR" | "TEXT" | "CHAR" | "STRING" => Self::String,
                "BOOL" | "BOOLEAN" => Self::Bool,
                "DATE" => Self::Date,
                "DATETIME" => Self::DateTime,
                _ => return None,
            },
        })
    }
}

fn is_utc(zone: &str) -> bool {
    matches!(zone.trim().trim_matches('\''), "UTC" | "Etc/UTC")
}

/// The parts between the commas that stand in no brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
}

fn common_number(one: &Type, two: &Type) -> Option<Type> {
    let bits = |ty: &Type| match ty {
        Type::UInt(bits) => (*bits, false),
        Type::Int(bits) => (*bits, true),
        _ => (8, false),
    };
    if *one == Type::Float || *two == Type::Float {
        let whole = if *one == Type::Float { two } else { one };
        // A fraction does not hold every whole number of 64 bits.
        return (*whole == Type::Float || bits(whole).0 <= 32).then_some(Type::Float);
    }
    match (bits(one), bits(two)) {
        ((one, false), (two, false)) => Some(Type::UInt(one.max(two))),
        ((one, true), (two, true)) => Some(Type::Int(one.max(two))),
        ((unsigned, false), (signed, true)) | ((signed, true), (unsigned, false)) => {
            let bits = if signed > unsigned { signed } else { unsigned.checked_mul(2)? };
            (bits <= 64).then_some(Type::Int(bits))
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Bool => f.write_str("Bool"),
            Self::UInt(bits) => write!(f, "UInt{bits}"),
            Self::Int(bits) => write!(f, "Int{bits}"),
            Self::Float => f.write_str("Float64"),
            Self::String => f.write_str("String"),
            Self::Date => f.write_str("Date"),
            Self::DateTime => f.write_str("DateTime"),
            Self::DateTime64(digits) => write!(f, "DateTime64({digits})"),
            Self::Array(element) => write!(f, "Array({element})"),
            Self::Map(key, value) => write!(f, "Map({key}, {value})"),
            Self::Nullable(plain) => write!(f, "Nullable({plain})"),
            Self::Tuple(parts) => {
                f.write_str("Tuple(")?;
                for (at, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_they_are_written() {
        for text in [
            "String",
            "Array(Nullable(Int64))",
            "Tuple(String, Array(UInt8), Float64)",
            "DateTime64(3)",
            "Map(String, Array(String))",
        ] {
            assert_eq!(Type::read(text).unwrap().to_string(), text);
        }
        for text in ["", "Array(", "Nullable(Array(Int8))", "Decimal(3)", "DateTime('Asia/Tokyo')"]
        {
            assert_eq!(Type::read(text), None, "{text}");
        }
        assert_eq!(Type::read(&format!("{}Int8{}", "Array(".repeat(99), ")".repeat(99))), None);
    }

    #[test]
    fn common_types_are_those_of_clickhouse() {
        for (one, two, expected) in [
            ("UInt8", "Int8", "Int16"),
            ("UInt32", "Int32", "Int64"),
            ("UInt8", "Int64", "Int64"),
            ("UInt8", "Float64", "Float64"),
            ("Nullable(UInt8)", "Int64", "Nullable(Int64)"),
            ("Array(UInt8)", "Array(Int8)", "Array(Int16)"),
            ("Array(Nothing)", "Array(String)", "Array(String)"),
            ("Date", "DateTime", "DateTime"),
        ] {
            let common = Type::read(one).unwrap().common(&Type::read(two).unwrap());
            assert_eq!(common, Type::read(expected), "{one} and {two}");
        }
        for (one, two) in [("String", "UInt8"), ("UInt64", "Int64"), ("Int64", "Float64")] {
            assert_eq!(Type::read(one).unwrap().common(&Type::read(two).unwrap()), None);
        }
    }
}
