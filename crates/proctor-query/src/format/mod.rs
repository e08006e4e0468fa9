//! How answers are written: the formats of ClickHouse, one file each, with the same bytes.
//!
//! Each is a [`Sink`], so that rows are written as they come; those that need to know how wide columns
//! are hold so many rows and no more.

mod csv;
mod json;
mod json_each_row;
mod markdown;
mod parquet;
mod pretty;
mod tsv;
mod value;

use std::io::{self, Write};

use crate::answer::{Cell, Heading, JsonLines, Sink};
use crate::engine::QueryError;

pub use value::Value;
pub(crate) use value::{escape, float_text};

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An object a line, for programs and for `grep`: nothing is escaped that need not be.
    Lines,
    /// An object a line, with the escapes of ClickHouse, which has one for `/`.
    JsonEachRow,
    /// An array a line.
    JsonCompactEachRow,
    /// One object with the types of the columns, and an object a row.
    Json,
    /// The same with an array a row.
    JsonCompact,
    /// Values between commas, texts in quotes.
    Csv {
        /// Whether the names of the columns stand before the rows.
        has_names: bool,
    },
    /// Values between tabs.
    Tsv {
        /// The same.
        has_names: bool,
    },
    /// A table for people.
    Pretty,
    /// The same with the names between lines of their own.
    PrettyFull,
    /// A table of Markdown.
    Markdown,
    /// A file for other programs.
    Parquet,
}

/// Names that ClickHouse has, and short ones, with their formats.
const NAMES: &[(&str, Format)] = &[
    ("JSONEachRow", Format::JsonEachRow),
    ("JSONLines", Format::JsonEachRow),
    ("NDJSON", Format::JsonEachRow),
    ("JSONCompactEachRow", Format::JsonCompactEachRow),
    ("JSON", Format::Json),
    ("JSONCompact", Format::JsonCompact),
    ("CSV", Format::Csv { has_names: false }),
    ("CSVWithNames", Format::Csv { has_names: true }),
    ("TSV", Format::Tsv { has_names: false }),
    ("TabSeparated", Format::Tsv { has_names: false }),
    ("TSVWithNames", Format::Tsv { has_names: true }),
    ("TabSeparatedWithNames", Format::Tsv { has_names: true }),
    ("Pretty", Format::PrettyFull),
    ("PrettyCompact", Format::Pretty),
    ("Markdown", Format::Markdown),
    ("Parquet", Format::Parquet),
];

impl Format {
    /// The format that a statement names after `FORMAT`.
    ///
    /// # Errors
    ///
    /// [`QueryError::UnknownFormat`] when there is none of that name.
    pub fn named(name: &str) -> Result<Self, QueryError> {
        let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let unknown = || QueryError::UnknownFormat { name: name.to_owned() };
        found.map(|(_, format)| *format).ok_or_else(unknown)
    }

    /// The names of all formats.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Writes an answer to `out`, which should be buffered.
    pub fn sink<'a>(self, out: &'a mut dyn Write) -> Box<dyn Sink + 'a> {
        match self {
            Self::Lines => Box::new(JsonLines::new(out)),
            Self::JsonEachRow => Box::new(json_each_row::Writer::objects(out)),
            Self::JsonCompactEachRow => Box::new(json_each_row::Writer::arrays(out)),
            Self::Json => Box::new(json::Writer::new(out, json::Rows::Objects)),
            Self::JsonCompact => Box::new(json::Writer::new(out, json::Rows::Arrays)),
            Self::Csv { has_names } => Box::new(csv::Writer::new(out, has_names)),
            Self::Tsv { has_names } => Box::new(tsv::Writer::new(out, has_names)),
            Self::PrettyFull => Box::new(pretty::Writer::new(out, &pretty::HEAVY)),
            Self::Pretty => Box::new(pretty::Writer::new(out, &pretty::LIGHT)),
            Self::Markdown => Box::new(markdown::Writer::new(out)),
            Self::Parquet => Box::new(parquet::Writer::new(out)),
        }
    }
}

/// The values of a row, by the types of the columns.
fn values(columns: &[Heading], cells: &[Cell<'_>]) -> io::Result<Vec<Value>> {
    let values = columns.iter().zip(cells).map(|(column, cell)| {
        Value::of_cell(cell, &column.ty).ok_or_else(|| {
            io::Error::other(format!("a value of `{}` is no {}", column.name, column.ty))
        })
    });
    values.collect()
}

#[cfg(test)]
mod tests;
