//! Expressions that are translated: SQL for SQLite with the type that ClickHouse gives it.

use sqlparser::tokenizer::Span;

use super::DialectError;
use crate::types::Type;

/// An expression.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    /// SQL for SQLite, with brackets where it needs them.
    pub(super) sql: String,
    /// Its type in ClickHouse.
    pub(super) ty: Type,
    /// Its value, when it is written as one.
    pub(super) constant: Option<Constant>,
    /// The parts of a tuple that is written as one.
    pub(super) parts: Option<Vec<Typed>>,
    /// Where it stands.
    pub(super) span: Span,
}

/// A value that is written in the statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Constant {
    Null,
    Whole(i64),
    Float(f64),
    Text(String),
}

impl Typed {
    pub(super) fn new(sql: impl Into<String>, ty: Type, span: Span) -> Self {
        Self { sql: sql.into(), ty, constant: None, parts: None, span }
    }

    pub(super) fn null(span: Span) -> Self {
        let ty = Type::Nullable(Box::new(Type::Nothing));
        Self { constant: Some(Constant::Null), ..Self::new("NULL", ty, span) }
    }

    pub(super) fn text(text: &str, span: Span) -> Self {
        let constant = Some(Constant::Text(text.to_owned()));
        Self { constant, ..Self::new(quoted(text), Type::String, span) }
    }

    /// A whole number, of the smallest type that holds it.
    pub(super) fn whole(number: i64, span: Span) -> Self {
        let ty = match number {
            0..=0xFF => Type::UInt(8),
            0x100..=0xFFFF => Type::UInt(16),
            0x1_0000..=0xFFFF_FFFF => Type::UInt(32),
            0x1_0000_0000.. => Type::UInt(64),
            -0x80..0 => Type::Int(8),
            -0x8000..-0x80 => Type::Int(16),
            -0x8000_0000..-0x8000 => Type::Int(32),
            ..-0x8000_0000 => Type::Int(64),
        };
        let sql = if number == i64::MIN {
            // It has no literal of its own.
            format!("({} - 1)", number + 1)
        } else if number < 0 {
            format!("({number})")
        } else {
            number.to_string()
        };
        Self { constant: Some(Constant::Whole(number)), ..Self::new(sql, ty, span) }
    }

    pub(super) fn float(number: f64, span: Span) -> Self {
        let sql = if number.is_nan() {
            "CAST(NULL AS REAL)".to_owned()
        } else if number.is_infinite() {
            format!("({}9e999)", if number < 0.0 { "-" } else { "" })
        } else {
            format!("({number:e})").replace('e', if number.fract() == 0.0 { ".0e" } else { "e" })
        };
        // `1.5e3` has a point already.
        let sql = if sql.matches('.').count() > 1 { sql.replacen(".0e", "e", 1) } else { sql };
        Self { constant: Some(Constant::Float(number)), ..Self::new(sql, Type::Float, span) }
    }

    /// Whether it is NULL and nothing else.
    pub(super) fn is_null(&self) -> bool {
        self.ty.is_nullable() && *self.ty.plain() == Type::Nothing
    }

    /// Whether it may be "not a number", which SQLite keeps as NULL.
    pub(super) fn may_be_nan(&self) -> bool {
        self.ty == Type::Float && !matches!(self.constant, Some(Constant::Float(_)))
    }

    pub(super) fn constant_text(&self) -> Option<&str> {
        match &self.constant {
            Some(Constant::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn constant_whole(&self) -> Option<i64> {
        match self.constant {
            Some(Constant::Whole(number)) => Some(number),
            _ => None,
        }
    }

    /// The same value as one of a wider type, which [`Type::common`] has found.
    pub(super) fn to(&self, ty: &Type) -> Self {
        if self.ty == *ty || self.is_null() {
            return Self { ty: ty.clone(), ..self.clone() };
        }
        let sql = &self.sql;
        let sql = match (self.ty.plain(), ty.plain()) {
            (from, Type::Float) if from.is_whole() => format!("CAST({sql} AS REAL)"),
            (Type::Date, Type::DateTime) => format!("({sql} * 86400)"),
            (Type::Date, Type::DateTime64(digits)) => {
                format!("({sql} * {})", 86_400 * 10_i64.pow((*digits).into()))
            }
            (Type::DateTime, Type::DateTime64(digits)) => {
                format!("({sql} * {})", 10_i64.pow((*digits).into()))
            }
            (Type::DateTime64(from), Type::DateTime64(to)) if to > from => {
                format!("({sql} * {})", 10_i64.pow((*to - *from).into()))
            }
            (from, to) if from.is_compound() && has_float(to) && !has_float(from) => {
                format!("ch_with_fractions({sql}, {})", quoted(&to.to_string()))
            }
            _ => sql.clone(),
        };
        Self { sql, ty: ty.clone(), constant: None, parts: None, span: self.span }
    }
}

fn has_float(ty: &Type) -> bool {
    match ty.plain() {
        Type::Float => true,
        Type::Array(element) => has_float(element),
        Type::Tuple(parts) => parts.iter().any(has_float),
        Type::Map(key, value) => has_float(key) || has_float(value),
        _ => false,
    }
}

/// A text as a literal of SQLite.
pub(super) fn quoted(text: &str) -> String {
    if text.contains('\0') {
        let hex = text.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        return format!("CAST(x'{hex}' AS TEXT)");
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as SQLite quotes it.
pub(super) fn named(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\"").replace('\0', " "))
}

/// A call of a function of SQLite.
pub(super) fn call(name: &str, arguments: &[&str]) -> String {
    format!("{name}({})", arguments.join(", "))
}

/// The value that stands where there is none, as SQL.
pub(super) fn default_of(ty: &Type) -> String {
    match ty {
        Type::Nullable(_) | Type::Nothing => "NULL".to_owned(),
        Type::String => "''".to_owned(),
        Type::Float => "0.0".to_owned(),
        Type::Array(_) | Type::Map(..) => "'[]'".to_owned(),
        Type::Tuple(parts) => {
            let flags: String = parts.iter().map(flag).collect();
            let defaults: Vec<String> = parts.iter().map(default_of).collect();
            format!("ch_tuple('{flags}', {})", defaults.join(", "))
        }
        _ => "0".to_owned(),
    }
}

/// How functions that make JSON are told of a value: `j` when it is JSON already, `n` when NULL
/// would be "not a number".
pub(super) fn flag(ty: &Type) -> char {
    match ty {
        Type::Float => 'n',
        ty if ty.plain().is_compound() => 'j',
        _ => 'v',
    }
}

/// SQL for a value of SQLite that is NULL where ClickHouse has a default.
pub(super) fn or_default(sql: &str, ty: &Type) -> String {
    if ty.is_nullable() { sql.to_owned() } else { format!("coalesce({sql}, {})", default_of(ty)) }
}

pub(super) fn unsupported(what: impl Into<String>, span: Span) -> DialectError {
    let start = span.start;
    DialectError::Unsupported { what: what.into(), line: start.line, column: start.column }
}

/// What ClickHouse refuses too.
pub(super) fn wrong(message: impl Into<String>, span: Span) -> DialectError {
    let start = span.start;
    DialectError::Wrong { message: message.into(), line: start.line, column: start.column }
}
