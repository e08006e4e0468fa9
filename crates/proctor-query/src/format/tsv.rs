//! `TSV` and `TSVWithNames`.

use std::io::{self, Write};

use super::{Value, escape, values};
use crate::answer::{Cell, Heading, Sink};

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

/// A value without tabs and line feeds. Compounds have theirs escaped already.
pub(super) fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("\\N"),
        Value::Text(text) => escape(text, out),
        other => out.push_str(&other.text()),
    }
}

impl<W: Write> Sink for Writer<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.columns = columns.to_vec();
        if !self.has_names {
            return Ok(());
        }
        let mut line = String::new();
        for (at, column) in columns.iter().enumerate() {
            line.push_str(if at > 0 { "\t" } else { "" });
            escape(&column.name, &mut line);
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let mut line = String::new();
        for (at, value) in values(&self.columns, cells)?.iter().enumerate() {
            line.push_str(if at > 0 { "\t" } else { "" });
            write(value, &mut line);
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }
}
