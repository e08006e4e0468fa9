//! `JSON` and `JSONCompact`, without the statistics, which no two runs have in common.

use std::io::{self, Write};

use super::{Value, values};
use crate::answer::{Cell, Heading, Sink};

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Objects,
    Arrays,
}

/// Writes one object.
pub(super) struct Writer<W> {
    out: W,
    columns: Vec<Heading>,
    rows: Rows,
    written: usize,
}

impl<W> Writer<W> {
    pub(super) fn new(out: W, rows: Rows) -> Self {
        Self { out, columns: Vec::new(), rows, written: 0 }
    }
}

/// Tuples and maps stand on lines of their own.
fn write_value(value: &Value, depth: usize, out: &mut String) {
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n('\t', depth));
    };
    match value {
        Value::Tuple(parts) => {
            out.push('[');
            for (at, part) in parts.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                indent(out, depth + 1);
                write_value(part, depth + 1, out);
            }
            indent(out, depth);
            out.push(']');
        }
        Value::Map(pairs) if !pairs.is_empty() => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                indent(out, depth + 1);
                super::value::json_text(&key.text(), out);
                out.push_str(": ");
                write_value(value, depth + 1, out);
            }
            indent(out, depth);
            out.push('}');
        }
        other => other.write_json(out),
    }
}

impl<W: Write> Sink for Writer<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.columns = columns.to_vec();
        let mut text = String::from("{\n\t\"meta\":\n\t[");
        for (at, column) in columns.iter().enumerate() {
            text.push_str(if at > 0 {
                ",\n\t\t{\n\t\t\t\"name\": "
            } else {
                "\n\t\t{\n\t\t\t\"name\": "
            });
            super::value::json_text(&column.name, &mut text);
            text.push_str(",\n\t\t\t\"type\": ");
            super::value::json_text(&column.ty.to_string(), &mut text);
            text.push_str("\n\t\t}");
        }
        text.push_str("\n\t],\n\n\t\"data\":\n\t[\n");
        self.out.write_all(text.as_bytes())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let mut text = String::from(if self.written == 0 { "\t\t" } else { ",\n\t\t" });
        self.written += 1;
        let values = values(&self.columns, cells)?;
        if self.rows == Rows::Arrays {
            text.push('[');
            for (at, value) in values.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                value.write_json(&mut text);
            }
            text.push(']');
        } else {
            text.push('{');
            for (at, (column, value)) in self.columns.iter().zip(&values).enumerate() {
                text.push_str(if at > 0 { ",\n\t\t\t" } else { "\n\t\t\t" });
                super::value::json_text(&column.name, &mut text);
                text.push_str(": ");
                write_value(value, 3, &mut text);
            }
            text.push_str("\n\t\t}");
        }
        self.out.write_all(text.as_bytes())
    }

    fn end(&mut self) -> io::Result<()> {
        write!(self.out, "\n\t],\n\n\t\"rows\": {}\n}}\n", self.written)?;
        Ok(())
    }
}
