//! JSON that keeps what a rewrite must not lose: the order of members and the text of numbers.
//!
//! Installed `.json` files, `.cratis/ai.json` and `.cratis/ai.manifest.json` are hashed or committed
//! by their owners, so they are written exactly as .NET's `System.Text.Json` writes them: two spaces
//! of indentation, no final newline, and its default escaping.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use proctor_model::{Diagnostic, Location};
use serde::de::IgnoredAny;

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As it was written.
    Number(String),
    String(String),
    Array(Vec<Json>),
    /// In order; names are unique.
    Object(Vec<(String, Json)>),
}

/// Which text counts as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// RFC 8259.
    Strict,
    /// With comments and trailing commas, as editors' configuration files have them.
    Commented,
}

impl Dialect {
    /// The options of the parser for this dialect.
    pub(crate) fn options(self) -> ParseOptions {
        let relaxed = self == Self::Commented;
        ParseOptions {
            allow_comments: relaxed,
            allow_trailing_commas: relaxed,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        }
    }
}

impl Json {
    /// Reads one value; a name that stands twice in an object is an error, because readers disagree
    /// about which one counts.
    pub(crate) fn parse(text: &str, dialect: Dialect) -> Result<Self, Diagnostic> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &dialect.options())
            .map_err(|error| syntax(&error))?;
        let Some(value) = parsed.value else {
            return Err(Diagnostic::error("the file is empty, expected JSON"));
        };
        if dialect == Dialect::Strict {
            // The parser takes raw control characters in strings and any white space of Unicode.
            serde_json::from_str::<IgnoredAny>(text).map_err(|error| strict(&error))?;
        }
        convert(value, text)
    }

    /// The member of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.members()?.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The members, when this is an object.
    pub(crate) fn members(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items, when this is an array.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text, when this is a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both mean the same: the order of members is of no account.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_as(b))
            }
            (Self::Object(a), Self::Object(b)) => {
                let theirs: BTreeMap<&String, &Self> =
                    b.iter().map(|(name, v)| (name, v)).collect();
                let found = |(name, value): &(String, Self)| {
                    theirs.get(name).is_some_and(|theirs| value.same_as(theirs))
                };
                a.len() == b.len() && a.iter().all(found)
            }
            _ => self == other,
        }
    }

    /// What kind of value this is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// An array of strings.
    pub(crate) fn strings<S: AsRef<str>>(values: &[S]) -> Self {
        Self::Array(values.iter().map(|value| Self::String(value.as_ref().to_owned())).collect())
    }

    /// The text of the value, indented by two spaces, lines ended by `\n`, no final newline.
    pub(crate) fn to_indented(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => write_string(out, text),
            Self::Array(items) if items.is_empty() => out.push_str("[]"),
            Self::Object(members) if members.is_empty() => out.push_str("{}"),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    start_line(out, depth + 1, index > 0);
                    item.write(out, depth + 1);
                }
                start_line(out, depth, false);
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    start_line(out, depth + 1, index > 0);
                    write_string(out, name);
                    out.push_str(": ");
                    value.write(out, depth + 1);
                }
                start_line(out, depth, false);
                out.push('}');
            }
        }
    }
}

fn start_line(out: &mut String, depth: usize, comma: bool) {
    if comma {
        out.push(',');
    }
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// Writes a string as .NET's default encoder does: everything outside printable ASCII, and what HTML
/// gives a meaning to, as `\uXXXX` with upper-case digits.
fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' if !matches!(char, '"' | '&' | '\'' | '+' | '<' | '>' | '`') => {
                out.push(char);
            }
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04X}");
                }
            }
        }
    }
    out.push('"');
}

/// The parser bounds the depth (512), so the recursion is bounded too.
fn convert(value: Value<'_>, source: &str) -> Result<Json, Diagnostic> {
    Ok(match value {
        Value::NullKeyword(_) => Json::Null,
        Value::BooleanLit(literal) => Json::Bool(literal.value),
        Value::NumberLit(literal) => Json::Number(literal.value.to_owned()),
        Value::StringLit(literal) => Json::String(literal.value.into_owned()),
        Value::Array(array) => Json::Array(
            array
                .elements
                .into_iter()
                .map(|item| convert(item, source))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(object) => {
            let mut seen = BTreeSet::new();
            let mut members = Vec::with_capacity(object.properties.len());
            for property in object.properties {
                let start = property.start();
                let name = property.name.into_string();
                if !seen.insert(name.clone()) {
                    return Err(Diagnostic::error(format!("`{name}` stands twice in one object"))
                        .at(location(source, start))
                        .hint("keep one of them"));
                }
                members.push((name, convert(property.value, source)?));
            }
            Json::Object(members)
        }
    })
}

fn syntax(error: &ParseError) -> Diagnostic {
    let mut message = error.kind().to_string();
    if let Some(first) = message.get_mut(0..1) {
        first.make_ascii_lowercase();
    }
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Diagnostic::error(format!("not JSON: {message}"))
        .at(Location { line: number(error.line_display()), column: number(error.column_display()) })
}

fn strict(error: &serde_json::Error) -> Diagnostic {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Diagnostic::error(format!("not JSON: {message}"))
        .at(Location { line: number(error.line()), column: number(error.column()) })
}

/// The place of a byte offset.
fn location(source: &str, offset: usize) -> Location {
    let before = source.get(..offset).unwrap_or(source);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Location {
        line: number(before.matches('\n').count() + 1),
        column: number(before[start..].chars().count() + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(text: &str) -> String {
        Json::parse(text, Dialect::Strict).unwrap().to_indented()
    }

    #[test]
    fn numbers_and_order_survive() {
        assert_eq!(
            rewrite(r#"{"z":1.50,"a":1e3,"big":123456789012345678901234567890,"n":-0}"#),
            "{\n  \"z\": 1.50,\n  \"a\": 1e3,\n  \"big\": 123456789012345678901234567890,\n  \"n\": -0\n}"
        );
    }

    #[test]
    fn empty_containers_stay_on_their_line() {
        assert_eq!(
            rewrite(r#"{"a":[],"b":{},"c":[{}]}"#),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    {}\n  ]\n}"
        );
        assert_eq!(rewrite("[ ]"), "[]");
    }

    #[test]
    fn strings_are_escaped_as_dotnet_does() {
        let input = r#"["\"", "a<b>&'+`", "é — 😀", "\/ \b\f\n\r\t\u0000\u007f", "$~{}|\\"]"#;
        insta::assert_snapshot!(rewrite(input), @r#"
        [
          "\u0022",
          "a\u003Cb\u003E\u0026\u0027\u002B\u0060",
          "\u00E9 \u2014 \uD83D\uDE00",
          "/ \b\f\n\r\t\u0000\u007F",
          "$~{}|\\"
        ]
        "#);
    }

    #[test]
    fn doubled_names_are_named_and_placed() {
        let error =
            Json::parse("{\n  \"a\": {\"b\": 1,\n    \"b\": 2}\n}", Dialect::Strict).unwrap_err();
        assert_eq!(error.to_string(), "`b` stands twice in one object (hint: keep one of them)");
        assert_eq!(error.location, Some(Location { line: 3, column: 5 }));
    }

    #[test]
    fn strict_refuses_what_the_commented_dialect_takes() {
        let text = "{\n  // why\n  \"a\": 1,\n}";
        assert!(Json::parse(text, Dialect::Commented).is_ok());
        let error = Json::parse(text, Dialect::Strict).unwrap_err();
        assert_eq!(error.message, "not JSON: comments are not allowed");
        assert_eq!(error.location, Some(Location { line: 2, column: 3 }));
    }

    #[test]
    fn strict_takes_no_more_than_the_standard() {
        let error = Json::parse("{\n\"a\":\t\"\t\"}", Dialect::Strict).unwrap_err();
        let message = "not JSON: control character (\\u0000-\\u001F) found while parsing a string";
        assert_eq!(error.message, message);
        assert_eq!(error.location, Some(Location { line: 2, column: 6 }));
        assert!(Json::parse("[\u{a0}1]", Dialect::Strict).is_err());
        assert!(Json::parse(r#"["\ud83d\ude00"]"#, Dialect::Strict).is_ok());
    }

    #[test]
    fn garbage_is_an_error_and_never_a_panic() {
        for text in ["", " ", "{", "nul", "{\"a\"}", "[1,]", "'a'", "01x", "\u{feff}{}", "{} {}"] {
            assert!(Json::parse(text, Dialect::Strict).is_err(), "{text:?}");
        }
        assert!(Json::parse(&"[".repeat(100_000), Dialect::Strict).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "([\\[\\]{}:,\"/*\\\\]|true|1e|é|\n|\\PC)*") {
            for dialect in [Dialect::Strict, Dialect::Commented] {
                if let Ok(json) = Json::parse(&text, dialect) {
                    let rewritten = json.to_indented();
                    proptest::prop_assert_eq!(Json::parse(&rewritten, Dialect::Strict).unwrap(), json);
                }
            }
        }

        #[test]
        fn rewriting_agrees_with_another_reader(value in value()) {
            let text = value.to_string();
            let rewritten = rewrite(&text);
            let read: serde_json::Value = serde_json::from_str(&rewritten).unwrap();
            proptest::prop_assert_eq!(read, value);
            proptest::prop_assert_eq!(rewrite(&rewritten), rewritten);
        }
    }

    fn value() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
