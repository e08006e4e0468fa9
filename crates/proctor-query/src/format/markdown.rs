//! `Markdown`: a table.

use std::io::{self, Write};

use super::{pretty, tsv, values};
use crate::answer::{Cell, Heading, Sink};

/// Writes a line a row.
pub(super) struct Writer<W> {
    out: W,
    columns: Vec<Heading>,
}

impl<W> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, columns: Vec::new() }
    }
}

impl<W: Write> Sink for Writer<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.columns = columns.to_vec();
        let (mut names, mut lines) = (String::from("|"), String::from("|"));
        for column in columns {
            names.push(' ');
            names.push_str(&pretty::inert(&column.name));
            names.push_str(" |");
            lines.push_str(if pretty::is_right(&column.ty) { "-:|" } else { ":-|" });
        }
        writeln!(self.out, "{names}\n{lines}")
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let mut line = String::from("|");
        for value in values(&self.columns, cells)? {
            let mut text = String::new();
            tsv::write(&value, &mut text);
            line.push(' ');
            line.push_str(&pretty::inert(&text));
            line.push_str(" |");
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }
}
