//! The tables and views: one list, of which everything else that describes them is made.
//!
//! [`TABLES`] is what `SHOW TABLES` and `DESCRIBE` answer, what the documentation prints, and what
//! other stores make their tables of. [`sqlite`] has what stands behind them here.

pub(crate) mod sqlite;
mod tables;

pub use tables::TABLES;

/// The version of the tables; it grows when a column changes its meaning or goes, or when what a
/// store keeps is no longer what this version reads.
pub const EVIDENCE_VERSION: u32 = 2;

/// A table or view that people may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What one row is.
    pub doc: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// The columns by which rows are told apart and best kept in order. Only
    /// `agent_timeline_entries`, `events` and the calls have more than one row of a trial.
    pub key: &'static [&'static str],
}

impl Table {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The names of the columns, in order.
    pub fn column_names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.name)
    }
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// What it says, with units.
    pub doc: &'static str,
}

impl Column {
    /// The type as ClickHouse writes it: `String`, `Nullable(Int64)`, ...
    pub fn clickhouse_type(&self) -> String {
        let plain = self.kind.clickhouse_type();
        match (self.kind, self.nullable) {
            (_, false) => plain.to_owned(),
            (Kind::Word, true) => "LowCardinality(Nullable(String))".to_owned(),
            (_, true) => format!("Nullable({plain})"),
        }
    }
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text of which there are few different ones: names, words of a closed list.
    Word,
    /// A text that is JSON.
    Json,
    /// A whole number that is never negative.
    Count,
    /// A whole number.
    Whole,
    /// A time in UTC, in milliseconds: `2026-12-01 03:07:19.250` as text.
    Time,
}

impl Kind {
    /// The type as ClickHouse writes it, of a column that is never NULL.
    pub fn clickhouse_type(self) -> &'static str {
        match self {
            Self::Text | Self::Json => "String",
            Self::Word => "LowCardinality(String)",
            Self::Count => "UInt64",
            Self::Whole => "Int64",
            Self::Time => "DateTime64(3, 'UTC')",
        }
    }
}

/// The table of that name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

/// The names of the tables and views, in the order in which they are listed.
pub fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

/// The columns of a table; `None` when there is no such table.
pub fn columns(name: &str) -> Option<Vec<&'static str>> {
    table(name).map(|table| table.column_names().collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_table_and_column_is_explained_and_named_once() {
        let names: BTreeSet<&str> = tables().collect();
        assert_eq!(names.len(), TABLES.len());
        for table in TABLES {
            assert!(!table.doc.is_empty(), "{}", table.name);
            let columns: BTreeSet<&str> = table.column_names().collect();
            assert_eq!(columns.len(), table.columns.len(), "{}", table.name);
            assert!(table.columns.iter().all(|column| !column.doc.is_empty()), "{}", table.name);
            for name in table.key {
                let column = table.column(name).unwrap_or_else(|| panic!("{}.{name}", table.name));
                assert!(!column.nullable, "{}.{name}", table.name);
            }
        }
    }

    #[test]
    fn types_are_written_as_clickhouse_does() {
        let of = |table: &str, column: &str| {
            super::table(table).and_then(|table| table.column(column)).unwrap().clickhouse_type()
        };
        assert_eq!(of("events", "payload"), "String");
        assert_eq!(of("events", "kind"), "LowCardinality(String)");
        assert_eq!(of("events", "model"), "LowCardinality(Nullable(String))");
        assert_eq!(of("events", "ts_ms"), "Nullable(UInt64)");
        assert_eq!(of("runs", "agent_started_at"), "Nullable(DateTime64(3, 'UTC'))");
    }
}
