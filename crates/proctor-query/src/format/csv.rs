//! `CSV` and `CSVWithNames`.

use std::io::{self, Write};

use super::{Value, values};
use crate::answer::{Cell, Heading, Sink};
use crate::types::Type;

/// Writes a line a row.
pub(super) struct Writer<W> {
    out: W,
    columns: Vec<Heading>,
    has_names: bool,
}

impl<W> Writer<W> {
    pub(super) fn new(out: W, has_names: bool) -> Self {
        Self { out, columns: Vec::new(), has_names }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    out.push_str(&text.replace('"', "\"\""));
    out.push('"');
}

/// The parts of a tuple are columns of their own.
fn names(name: &str, ty: &Type, all: &mut Vec<String>) {
    match ty {
        Type::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                names(&format!("{name}.{}", at + 1), part, all);
            }
        }
        _ => all.push(name.to_owned()),
    }
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("\\N"),
        Value::Bool(_) | Value::Whole(_) | Value::Float(_) => out.push_str(&value.text()),
        Value::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(part, out);
            }
        }
        other => quote(&other.text(), out),
    }
}

impl<W: Write> Sink for Writer<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.columns = columns.to_vec();
        if !self.has_names {
            return Ok(());
        }
        let mut all = Vec::new();
        for column in columns {
            names(&column.name, &column.ty, &mut all);
        }
        let mut line = String::new();
        for (at, name) in all.iter().enumerate() {
            line.push_str(if at > 0 { "," } else { "" });
            quote(name, &mut line);
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let mut line = String::new();
        for (at, value) in values(&self.columns, cells)?.iter().enumerate() {
            line.push_str(if at > 0 { "," } else { "" });
            write(value, &mut line);
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }
}
