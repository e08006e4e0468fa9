//! Answers: row by row to whoever takes them, or collected.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::{Map, Number, Value};

use crate::types::Type;

/// One value of an answer, as SQLite has it: what it means is a matter of the type of its column.
/// Arrays, tuples and maps are texts of JSON, days and times whole numbers, and "not a number" is
/// NULL where the type has none. [`crate::Value::of_cell`] reads it.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// A whole number.
    Whole(i64),
    /// A fraction; may be infinite or not a number.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
}

impl Cell<'_> {
    /// The value as JSON; what JSON has no number for is null, as in ClickHouse.
    pub fn to_json(&self, ty: &Type) -> Value {
        let plain = ty.plain();
        if *plain == Type::Bool || plain.is_time() || matches!(plain, Type::Map(..)) {
            let mut text = String::new();
            if let Some(value) = crate::format::Value::of_cell(self, ty) {
                value.write_json(&mut text);
            }
            return serde_json::from_str(&text).unwrap_or_default();
        }
        match self {
            Self::Null => Value::Null,
            Self::Whole(number) => (*number).into(),
            Self::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
            Self::Text(text) if plain.is_compound() => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::from(&**text))
            }
            Self::Text(text) => Value::from(&**text),
        }
    }

    /// About how many bytes it takes.
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len() + 24,
            _ => 24,
        }
    }
}

/// A column of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heading {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
}

/// Who takes an answer, row by row. An error ends the statement.
pub trait Sink {
    /// The columns; called once, before any row.
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()>;
    /// The next row, with a value a column.
    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()>;
    /// There are no more rows.
    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ending {
    /// The rows that were given.
    pub rows: usize,
    /// Whether rows were left out because of the limit.
    pub is_truncated: bool,
}

/// An answer that is in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The names of the columns, in order.
    pub columns: Vec<String>,
    /// The rows, one object each, with the columns in order.
    pub rows: Vec<Map<String, Value>>,
    /// Whether rows were left out because of the limit.
    pub is_truncated: bool,
    /// The format that the statement names, as written.
    pub format: Option<String>,
}

/// Collects an answer, up to a number of bytes.
#[derive(Debug)]
pub(crate) struct Collector {
    headings: Vec<Heading>,
    pub(crate) rows: Vec<Map<String, Value>>,
    room: usize,
}

impl Collector {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { headings: Vec::new(), rows: Vec::new(), room: max_bytes }
    }

    pub(crate) fn columns(&self) -> Vec<String> {
        self.headings.iter().map(|heading| heading.name.clone()).collect()
    }
}

impl Sink for Collector {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.headings = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let size = cells.iter().map(Cell::size).sum();
        self.room = self.room.checked_sub(size).ok_or(io::ErrorKind::OutOfMemory)?;
        let named = self.headings.iter().zip(cells);
        self.rows.push(
            named
                .map(|(heading, cell)| (heading.name.clone(), cell.to_json(&heading.ty)))
                .collect(),
        );
        Ok(())
    }
}

/// Writes one JSON object a row, each on a line of its own.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    /// The names as they are written, with what stands before them.
    names: Vec<(String, Type)>,
}

impl<W: Write> JsonLines<W> {
    /// A writer to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, names: Vec::new() }
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Sink for JsonLines<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        let mut before = "{";
        for heading in columns {
            let name = serde_json::to_string(&heading.name)?;
            self.names.push((format!("{before}{name}:"), heading.ty.clone()));
            before = ",";
        }
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        for ((name, ty), cell) in self.names.iter().zip(cells) {
            self.out.write_all(name.as_bytes())?;
            match cell {
                Cell::Null => self.out.write_all(b"null")?,
                Cell::Whole(number) if matches!(ty.plain(), Type::UInt(_) | Type::Int(_)) => {
                    write!(self.out, "{number}")?;
                }
                // JSON has no other numbers: null, as in ClickHouse.
                Cell::Float(number) if !number.is_finite() => self.out.write_all(b"null")?,
                Cell::Float(number) => {
                    self.out.write_all(crate::format::float_text(*number).as_bytes())?;
                }
                Cell::Text(text) if *ty.plain() == Type::String => {
                    serde_json::to_writer(&mut self.out, text)?;
                }
                other => serde_json::to_writer(&mut self.out, &other.to_json(ty))?,
            }
        }
        self.out.write_all(b"}\n")
    }
}
