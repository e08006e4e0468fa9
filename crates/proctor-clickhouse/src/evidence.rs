//! The evidence that Proctor keeps, as tables and rows for ClickHouse.

use std::io::{self, Write};

use proctor_query::schema::TABLES;
use proctor_query::{Evidence, JsonLines};

use crate::batch::Rows;
use crate::query::Error;
use crate::schema::{Column, Table};

/// All tables of evidence.
pub fn tables() -> Vec<Table> {
    TABLES.iter().map(Table::from).collect()
}

impl From<&proctor_query::schema::Table> for Table {
    fn from(table: &proctor_query::schema::Table) -> Self {
        let columns = table.columns.iter().map(|column| Column {
            name: column.name.to_owned(),
            type_name: column.clickhouse_type(),
            doc: column.doc.to_owned(),
        });
        Self {
            name: table.name.to_owned(),
            columns: columns.collect(),
            key: table.key.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

/// What it [shows](Evidence::show).
impl Rows for Evidence {
    fn each(
        &mut self,
        table: &Table,
        row: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut lines = JsonLines::new(Lines { row, line: Vec::new(), stopped: None });
        match self.rows(&table.name, &mut lines) {
            Ok(_) => Ok(()),
            Err(error) => {
                let stopped = lines.into_inner().stopped;
                Err(stopped.unwrap_or_else(|| Error::Rows(error.to_string())))
            }
        }
    }
}

/// Takes what is written line by line. No line break stands within a line of JSON.
struct Lines<'a> {
    row: &'a mut dyn FnMut(&str) -> Result<(), Error>,
    line: Vec<u8>,
    stopped: Option<Error>,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            self.line.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        self.line.extend_from_slice(bytes.get(..end).unwrap_or_default());
        let line = std::str::from_utf8(&self.line).map_err(io::Error::other)?;
        if let Err(error) = (self.row)(line) {
            self.stopped = Some(error);
            return Err(io::Error::other("nobody takes further rows"));
        }
        self.line.clear();
        Ok(end + 1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::event::Role;
    use proctor_model::{Event, EventKind};
    use proctor_query::Dimensions;

    use super::*;

    fn evidence() -> Evidence {
        let run_id = "a::1".to_owned();
        let mut evidence = Evidence::new(&Dimensions { run_id, ..Dimensions::default() }).unwrap();
        let texts = ["one\ntwo", "{\"x\":1}", "ä\u{0}"];
        let event = |text: &str| Event {
            kind: EventKind::Message { role: Role::Assistant, text: text.to_owned() },
            seq: 0,
            line: 1,
            parent: None,
            ts_ms: None,
        };
        evidence.add_events(&texts.map(event)).unwrap();
        evidence
    }

    fn table(name: &str) -> Table {
        tables().into_iter().find(|table| table.name == name).unwrap()
    }

    #[test]
    fn a_row_is_an_object_with_the_columns_of_its_table() {
        let events = table("events");
        let mut seen = Vec::new();
        let mut take = |row: &str| {
            let row: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(row).unwrap();
            assert!(row.keys().eq(events.columns.iter().map(|column| &column.name)));
            seen.push(row["payload"].as_str().unwrap().to_owned());
            Ok(())
        };
        evidence().each(&events, &mut take).unwrap();
        assert_eq!(seen.len(), 3);
        assert!(seen[0].contains(r"one\ntwo"), "{}", seen[0]);
    }

    #[test]
    fn whoever_takes_the_rows_may_stop() {
        let mut taken = 0;
        let error = evidence().each(&table("events"), &mut |_| {
            taken += 1;
            Err(Error::TooLarge)
        });
        assert!(matches!(error, Err(Error::TooLarge)));
        assert_eq!(taken, 1);
    }

    #[test]
    fn what_orders_a_table_is_in_it_and_never_empty() {
        for table in tables() {
            assert!(table.has("run_id"), "{}", table.name);
            for key in &table.key {
                let column = table.columns.iter().find(|column| column.name == *key).unwrap();
                assert!(!column.type_name.contains("Nullable"), "{}.{key}", table.name);
            }
        }
    }

    /// The tables of version 1 of a server. When they change, `SCHEMA_VERSION` must grow and get a
    /// step that brings the tables there from the version before.
    #[test]
    fn the_tables_of_a_server_change_with_their_version_only() {
        let mut shown = format!("version {}\n", crate::server::SCHEMA_VERSION);
        for table in tables() {
            shown.extend(["\n", &table.name, " by ", &table.key.join(", "), "\n"]);
            for column in &table.columns {
                shown.extend(["  ", &column.name, " ", &column.type_name, "\n"]);
            }
        }
        insta::assert_snapshot!(shown);
    }
}
