//! JSON text as Go's `encoding/json` writes it, for files and signatures that Go programs share.
//!
//! Beside the usual escapes `<`, `>`, `&`, U+2028 and U+2029 stand as `\u00XX`; floats have the
//! shortest text, with an exponent below 1e-6 and from 1e21 up, and whole ones have no fraction.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use super::number_text;

/// The text on one line, without white space. Floats that are not finite stand as `null`.
pub fn compact<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    write(value, CompactFormatter)
}

/// The text indented by two spaces, with a line break at its end.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut text = write(value, PrettyFormatter::new())?;
    text.push('\n');
    Ok(text)
}

fn write<T: Serialize + ?Sized, F: Formatter>(value: &T, layout: F) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Go(layout)))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// The layout of `F` with the texts of Go.
struct Go<F>(F);

impl<F: Formatter> Formatter for Go<F> {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value == 0.0 && value.is_sign_negative() {
            writer.write_all(b"-0")
        } else {
            writer.write_all(number_text(value).as_bytes())
        }
    }

    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let special = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        let mut rest = fragment;
        while let Some(at) = rest.find(special) {
            let (plain, from) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut characters = from.chars();
            if let Some(character) = characters.next() {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_the_texts_of_go() {
        let values = [1.0, 0.7, 1e21, 1e20, 0.000_001, 0.000_000_1, -0.0, 0.0, -2.5];
        assert_eq!(
            compact(&values).unwrap(),
            "[1,0.7,1e+21,100000000000000000000,0.000001,1e-7,-0,0,-2.5]"
        );
        assert_eq!(compact(&(7_u64, -7_i64, true)).unwrap(), "[7,-7,true]");
    }

    #[test]
    fn strings_have_the_escapes_of_go() {
        let text = "<a> & \u{2028}\u{2029} é \u{7f} \"\\\n\t\u{8}\u{1}";
        assert_eq!(
            compact(text).unwrap(),
            "\"\\u003ca\\u003e \\u0026 \\u2028\\u2029 é \u{7f} \\\"\\\\\\n\\t\\b\\u0001\""
        );
    }

    #[test]
    fn the_indented_layout_is_that_of_go() {
        let value = json!({ "a": [1, { "b": [] }], "c": {} });
        assert_eq!(
            pretty(&value).unwrap(),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}\n"
        );
    }
}
