//! `JSONEachRow` and `JSONCompactEachRow`.

use std::io::{self, Write};

use super::values;
use crate::answer::{Cell, Heading, Sink};

/// Writes a line a row.
pub(super) struct Writer<W> {
    out: W,
    columns: Vec<Heading>,
    /// What stands before each value, and after the last.
    between: Vec<String>,
    is_array: bool,
}

impl<W> Writer<W> {
    pub(super) fn objects(out: W) -> Self {
        Self { out, columns: Vec::new(), between: Vec::new(), is_array: false }
    }

    pub(super) fn arrays(out: W) -> Self {
        Self { out, columns: Vec::new(), between: Vec::new(), is_array: true }
    }
}

impl<W: Write> Sink for Writer<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.columns = columns.to_vec();
        let mut next = if self.is_array { "[" } else { "{" };
        for column in columns {
            let mut before = next.to_owned();
            if !self.is_array {
                super::value::json_text(&column.name, &mut before);
                before.push(':');
            }
            self.between.push(before);
            next = if self.is_array { ", " } else { "," };
        }
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let mut line = String::new();
        for (before, value) in self.between.iter().zip(values(&self.columns, cells)?) {
            line.push_str(before);
            value.write_json(&mut line);
        }
        line.push_str(if self.is_array { "]\n" } else { "}\n" });
        self.out.write_all(line.as_bytes())
    }
}
