//! `Parquet`: a file for other programs. Arrays, tuples and maps are texts of JSON, days texts.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Value, values};
use crate::answer::{Cell, Heading, Sink};
use crate::parquet::{ParquetColumn, ParquetError, ParquetKind, ParquetValue, ParquetWriter};
use crate::types::Type;

/// Writes a file.
pub(super) struct Writer<W> {
    out: W,
    file: Option<ParquetWriter<Held>>,
    held: Held,
    columns: Vec<Heading>,
}

impl<W> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, file: None, held: Held::default(), columns: Vec::new() }
    }
}

/// What the file writes until it is handed on: what is written to need not go from thread to thread,
/// which the file asks for.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Vec<u8>>>);

impl Held {
    fn hand_on(&self, out: &mut impl Write) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes)
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn kind(ty: &Type) -> ParquetKind {
    match ty.plain() {
        Type::Bool => ParquetKind::Bool,
        Type::UInt(_) => ParquetKind::UInt,
        Type::Int(_) => ParquetKind::Int,
        Type::Float => ParquetKind::Float,
        Type::DateTime | Type::DateTime64(0..=3) => ParquetKind::Milliseconds,
        _ => ParquetKind::Text,
    }
}

fn value(value: Value, ty: &Type) -> ParquetValue {
    match value {
        Value::Null => ParquetValue::Null,
        Value::Bool(value) => ParquetValue::Bool(value),
        Value::Whole(number) => ParquetValue::Int(number),
        Value::Float(number) => ParquetValue::Float(number),
        Value::Time { ticks, digits } if kind(ty) == ParquetKind::Milliseconds => {
            ParquetValue::Int(ticks.saturating_mul(10_i64.pow((3 - digits).into())))
        }
        Value::Text(text) => ParquetValue::Text(text),
        compound @ (Value::Array(_) | Value::Tuple(_) | Value::Map(_)) => {
            let mut text = String::new();
            compound.write_json(&mut text);
            ParquetValue::Text(text)
        }
        other => ParquetValue::Text(other.text().into_owned()),
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

impl<W: Write> Sink for Writer<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.columns = columns.to_vec();
        let mut named: Vec<ParquetColumn> = Vec::new();
        for column in columns {
            // Names must differ.
            let mut name = column.name.clone();
            while named.iter().any(|other| other.name == name) {
                name.push('_');
            }
            named.push(ParquetColumn {
                name,
                kind: kind(&column.ty),
                required: !column.ty.is_nullable(),
            });
        }
        self.file = Some(ParquetWriter::new(self.held.clone(), named).map_err(failed)?);
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let values = values(&self.columns, cells)?.into_iter().zip(&self.columns);
        let row = values.map(|(cell, column)| value(cell, &column.ty)).collect();
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("a row before its columns"));
        };
        file.row(row).map_err(failed)?;
        self.held.hand_on(&mut self.out)
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            file.finish().map_err(failed)?;
        }
        self.held.hand_on(&mut self.out)?;
        Ok(())
    }
}
