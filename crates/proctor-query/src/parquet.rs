//! Tables as Parquet files: flat columns, zstd, row groups of bounded size.
//!
//! What is written depends on the rows alone: the same rows give the same bytes.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, Type as Physical, ZstdLevel,
};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError as Inner;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

/// Rows after which a row group is written.
const GROUP_ROWS: usize = 65_536;
/// Bytes of text after which a row group is written, however few its rows are.
const GROUP_BYTES: usize = 64 << 20;
/// How hard zstd tries: its own default.
const LEVEL: i32 = 3;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParquetKind {
    /// Text in UTF-8.
    Text,
    /// Bytes that need not be text.
    Bytes,
    /// A signed 64-bit number.
    Int,
    /// An unsigned 64-bit number.
    UInt,
    /// A 64-bit floating-point number.
    Float,
    /// True or false.
    Bool,
    /// A moment, in milliseconds since 1970 in UTC.
    Milliseconds,
}

/// A column of a file. Every column may hold nulls unless `required`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParquetColumn {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: ParquetKind,
    /// Whether it holds no null.
    pub required: bool,
}

impl ParquetColumn {
    /// A column that may hold nulls.
    pub fn new(name: impl Into<String>, kind: ParquetKind) -> Self {
        Self { name: name.into(), kind, required: false }
    }

    /// A column without nulls.
    pub fn required(name: impl Into<String>, kind: ParquetKind) -> Self {
        Self { name: name.into(), kind, required: true }
    }
}

/// A value on its way into a file.
#[derive(Debug, Clone, PartialEq)]
pub enum ParquetValue {
    /// None.
    Null,
    /// For [`ParquetKind::Text`].
    Text(String),
    /// For [`ParquetKind::Bytes`].
    Bytes(Vec<u8>),
    /// For [`ParquetKind::Int`] and [`ParquetKind::Milliseconds`].
    Int(i64),
    /// For [`ParquetKind::UInt`], and for what takes an `Int` when it fits.
    UInt(u64),
    /// For [`ParquetKind::Float`].
    Float(f64),
    /// For [`ParquetKind::Bool`].
    Bool(bool),
}

impl From<&str> for ParquetValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for ParquetValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for ParquetValue {
    fn from(number: u64) -> Self {
        Self::UInt(number)
    }
}

impl From<i64> for ParquetValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for ParquetValue {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for ParquetValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for ParquetValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// A row has other columns than the file.
    #[error("a row has {found} values and the file {expected} columns")]
    Width {
        /// The columns of the file.
        expected: usize,
        /// The values of the row.
        found: usize,
    },
    /// A value is not of the kind of its column.
    #[error("column `{column}` takes {kind:?} and not {value:?}")]
    Kind {
        /// The column.
        column: String,
        /// Its kind.
        kind: ParquetKind,
        /// The value.
        value: ParquetValue,
    },
    /// The library or the disk refused.
    #[error("the Parquet file cannot be written: {0}")]
    Write(#[from] Inner),
}

/// Writes one table. Rows are held until a row group is full, so memory is bounded.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<ParquetColumn>,
    held: Vec<Held>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file with these columns, of which there must be at least one; names must differ.
    ///
    /// # Errors
    ///
    /// When the columns make no schema, or `out` fails.
    pub fn new(out: W, columns: Vec<ParquetColumn>) -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
            .set_created_by(concat!("proctor ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let file = SerializedFileWriter::new(out, schema(&columns)?, Arc::new(properties))?;
        let held = columns.iter().map(|column| Held::new(column.kind)).collect();
        Ok(Self { file, columns, held, rows: 0, bytes: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// When it does not fit the columns, of which nothing is kept then; or when `out` fails.
    pub fn row(&mut self, values: Vec<ParquetValue>) -> Result<(), ParquetError> {
        if values.len() != self.columns.len() {
            return Err(ParquetError::Width { expected: self.columns.len(), found: values.len() });
        }
        let misfit = self.columns.iter().zip(&values).find(|(column, value)| !fits(column, value));
        if let Some((column, value)) = misfit {
            let (column, kind) = (column.name.clone(), column.kind);
            return Err(ParquetError::Kind { column, kind, value: value.clone() });
        }
        for (held, value) in self.held.iter_mut().zip(values) {
            self.bytes += held.push(value);
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.group() } else { Ok(()) }
    }

    /// Ends the file. Only now can it be read.
    ///
    /// # Errors
    ///
    /// When `out` fails.
    pub fn finish(mut self) -> Result<(), ParquetError> {
        self.group()?;
        self.file.close()?;
        Ok(())
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for (held, column) in self.held.iter_mut().zip(&self.columns) {
            let Some(mut writer) = group.next_column()? else { break };
            held.write(writer.untyped(), column.required)?;
            writer.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

fn schema(columns: &[ParquetColumn]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            ParquetKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ParquetKind::Bytes => (Physical::BYTE_ARRAY, None),
            ParquetKind::Int => (Physical::INT64, None),
            ParquetKind::UInt => (Physical::INT64, Some(LogicalType::integer(64, false))),
            ParquetKind::Float => (Physical::DOUBLE, None),
            ParquetKind::Bool => (Physical::BOOLEAN, None),
            ParquetKind::Milliseconds => {
                let unit = parquet::basic::TimeUnit::MILLIS;
                (Physical::INT64, Some(LogicalType::timestamp(true, unit)))
            }
        };
        let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(repetition)
            .with_converted_type(ConvertedType::NONE)
            .with_logical_type(logical)
            .build();
        Ok(Arc::new(field?))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder("table").with_fields(fields).build()?))
}

fn fits(column: &ParquetColumn, value: &ParquetValue) -> bool {
    use ParquetKind as Kind;
    match (column.kind, value) {
        (_, ParquetValue::Null) => !column.required,
        (Kind::Text, ParquetValue::Text(_))
        | (Kind::Bytes, ParquetValue::Bytes(_))
        | (Kind::Int | Kind::Milliseconds, ParquetValue::Int(_))
        | (Kind::UInt, ParquetValue::UInt(_))
        | (Kind::Float, ParquetValue::Float(_))
        | (Kind::Bool, ParquetValue::Bool(_)) => true,
        (Kind::Int | Kind::Milliseconds, ParquetValue::UInt(number)) => {
            i64::try_from(*number).is_ok()
        }
        (Kind::UInt, ParquetValue::Int(number)) => *number >= 0,
        _ => false,
    }
}

/// The values of one column that wait for their row group: those that are there, and which rows
/// have one.
struct Held {
    there: Vec<i16>,
    values: Values,
}

enum Values {
    Bytes(Vec<ByteArray>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
}

impl Held {
    fn new(kind: ParquetKind) -> Self {
        let values = match kind {
            ParquetKind::Text | ParquetKind::Bytes => Values::Bytes(Vec::new()),
            ParquetKind::Int | ParquetKind::UInt | ParquetKind::Milliseconds => {
                Values::Ints(Vec::new())
            }
            ParquetKind::Float => Values::Floats(Vec::new()),
            ParquetKind::Bool => Values::Bools(Vec::new()),
        };
        Self { there: Vec::new(), values }
    }

    /// Takes a value that fits, and says how many bytes it takes.
    fn push(&mut self, value: ParquetValue) -> usize {
        self.there.push(i16::from(value != ParquetValue::Null));
        match (&mut self.values, value) {
            (Values::Bytes(values), ParquetValue::Text(text)) => {
                values.push(text.into_bytes().into());
                values.last().map_or(0, ByteArray::len)
            }
            (Values::Bytes(values), ParquetValue::Bytes(bytes)) => {
                values.push(bytes.into());
                values.last().map_or(0, ByteArray::len)
            }
            (Values::Ints(values), ParquetValue::Int(number)) => {
                values.push(number);
                8
            }
            (Values::Ints(values), ParquetValue::UInt(number)) => {
                // Its bits are what the unsigned type of the file reads.
                values.push(number.cast_signed());
                8
            }
            (Values::Floats(values), ParquetValue::Float(number)) => {
                values.push(number);
                8
            }
            (Values::Bools(values), ParquetValue::Bool(value)) => {
                values.push(value);
                1
            }
            _ => 0,
        }
    }

    fn write(&mut self, writer: &mut ColumnWriter<'_>, required: bool) -> Result<(), Inner> {
        let levels = (!required).then_some(self.there.as_slice());
        match (&mut self.values, writer) {
            (Values::Bytes(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (Values::Ints(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (Values::Floats(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (Values::Bools(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            _ => {
                return Err(Inner::General("a column has another type than its values".to_owned()));
            }
        }
        self.there.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    const KINDS: [ParquetKind; 7] = [
        ParquetKind::Text,
        ParquetKind::Bytes,
        ParquetKind::Int,
        ParquetKind::UInt,
        ParquetKind::Float,
        ParquetKind::Bool,
        ParquetKind::Milliseconds,
    ];

    fn write(columns: Vec<ParquetColumn>, rows: Vec<Vec<ParquetValue>>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = ParquetWriter::new(&mut out, columns).unwrap();
        for row in rows {
            writer.row(row).unwrap();
        }
        writer.finish().unwrap();
        out
    }

    fn read(bytes: Vec<u8>) -> Vec<Vec<(String, Field)>> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().into_columns()).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let columns = KINDS.iter().map(|kind| ParquetColumn::new(format!("{kind:?}"), *kind));
        let row = vec![
            "ä".into(),
            ParquetValue::Bytes(vec![0xff]),
            i64::MIN.into(),
            u64::MAX.into(),
            0.5.into(),
            true.into(),
            ParquetValue::Int(1_700_000_000_000),
        ];
        let nulls = vec![ParquetValue::Null; KINDS.len()];
        let file = write(columns.collect(), vec![row, nulls]);
        let rows = read(file);
        assert_eq!(rows.len(), 2);
        let values: Vec<Field> = rows[0].iter().map(|(_, field)| field.clone()).collect();
        assert_eq!(
            values,
            [
                Field::Str("ä".to_owned()),
                Field::Bytes(vec![0xff].into()),
                Field::Long(i64::MIN),
                Field::ULong(u64::MAX),
                Field::Double(0.5),
                Field::Bool(true),
                Field::TimestampMillis(1_700_000_000_000),
            ]
        );
        assert!(rows[1].iter().all(|(_, field)| *field == Field::Null));
    }

    #[test]
    fn groups_are_bounded_and_the_same_rows_give_the_same_bytes() {
        let file = || {
            let columns = vec![ParquetColumn::required("n", ParquetKind::Int)];
            let rows = (0..=i64::try_from(GROUP_ROWS).unwrap()).map(|n| vec![n.into()]);
            write(columns, rows.collect())
        };
        let bytes = file();
        assert_eq!(bytes, file());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 65_537);
    }

    #[test]
    fn rows_that_do_not_fit_are_refused_whole() {
        let mut out = Vec::new();
        let columns = vec![
            ParquetColumn::required("a", ParquetKind::Int),
            ParquetColumn::new("b", ParquetKind::UInt),
        ];
        let mut writer = ParquetWriter::new(&mut out, columns).unwrap();
        let error = writer.row(vec![1_i64.into()]).unwrap_err().to_string();
        assert_eq!(error, "a row has 1 values and the file 2 columns");
        let error = writer.row(vec![ParquetValue::Null, 1_u64.into()]).unwrap_err().to_string();
        assert_eq!(error, "column `a` takes Int and not Null");
        assert!(writer.row(vec![u64::MAX.into(), 1_u64.into()]).is_err());
        assert!(writer.row(vec![1_u64.into(), (-1_i64).into()]).is_err());
        writer.row(vec![1_u64.into(), 2_i64.into()]).unwrap();
        writer.finish().unwrap();
        assert_eq!(read(out).len(), 1);
    }

    #[test]
    fn a_table_without_rows_is_a_file_with_columns() {
        let file = write(vec![ParquetColumn::new("a", ParquetKind::Text)], Vec::new());
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let columns = reader.metadata().file_metadata().schema_descr().num_columns();
        assert_eq!((columns, reader.num_row_groups()), (1, 0));
    }
}
