//! Rows on their way into ClickHouse: one JSON object a line, in batches of bounded size.

use crate::query::Error;
use crate::schema::Table;

/// A batch is sent when it has so many bytes; with one long row it has more.
const BATCH_BYTES: usize = 4 << 20;
/// And when it has so many rows, far fewer than ClickHouse would tear apart.
const BATCH_ROWS: u64 = 50_000;

/// Where the rows of tables come from. Asked twice for the same table, it gives the same rows in
/// the same order.
pub trait Rows {
    /// Calls `row` with each row of `table`, a JSON object with a member a column and without line
    /// breaks.
    ///
    /// # Errors
    ///
    /// Those of `row`, and [`Error::Rows`] when rows cannot be read.
    fn each(
        &mut self,
        table: &Table,
        row: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// Sends the rows of a table with `send`, in batches that are the same each time. Returns how many
/// rows there were.
pub(crate) fn in_batches(
    rows: &mut dyn Rows,
    table: &Table,
    mut send: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<u64, Error> {
    let (mut batch, mut held, mut total) = (Vec::new(), 0_u64, 0_u64);
    rows.each(table, &mut |row| {
        batch.extend_from_slice(row.as_bytes());
        batch.push(b'\n');
        held += 1;
        total += 1;
        if batch.len() >= BATCH_BYTES || held >= BATCH_ROWS {
            send(&batch)?;
            batch.clear();
            held = 0;
        }
        Ok(())
    })?;
    if !batch.is_empty() {
        send(&batch)?;
    }
    Ok(total)
}

/// How rows are put in, whichever way.
pub(crate) fn insert(table: &Table) -> String {
    format!("INSERT INTO {} FORMAT JSONEachRow", crate::schema::quoted_name(&table.name))
}

/// What makes a row that does not fit its table an error, and a batch one insertion.
pub(crate) const INSERT_SETTINGS: [(&str, &str); 3] = [
    ("input_format_skip_unknown_fields", "0"),
    ("input_format_parallel_parsing", "0"),
    ("max_insert_block_size", "1000000"),
];

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::schema::tests::table;

    /// Rows that are held in memory.
    #[derive(Debug, Default, Clone)]
    pub(crate) struct Held(pub(crate) BTreeMap<String, Vec<String>>);

    impl Rows for Held {
        fn each(
            &mut self,
            table: &Table,
            row: &mut dyn FnMut(&str) -> Result<(), Error>,
        ) -> Result<(), Error> {
            self.0.get(&table.name).into_iter().flatten().try_for_each(|text| row(text))
        }
    }

    #[test]
    fn batches_are_bounded_and_lose_nothing() {
        let row = format!("{{\"x\":\"{}\"}}", "y".repeat(1 << 20));
        let mut rows = Held([("t".to_owned(), vec![row.clone(); 9])].into());
        let mut sent = Vec::new();
        let total = in_batches(&mut rows, &table("t", &[]), |batch| {
            sent.push(batch.to_vec());
            Ok(())
        });
        assert_eq!(total.unwrap(), 9);
        assert!(sent.len() > 1 && sent.iter().all(|batch| batch.len() < BATCH_BYTES + row.len()));
        assert_eq!(sent.concat(), format!("{row}\n").repeat(9).into_bytes());
    }

    #[test]
    fn many_short_rows_are_torn_apart_by_number() {
        let mut rows = Held([("t".to_owned(), vec!["{}".to_owned(); 120_000])].into());
        let mut sent = Vec::new();
        in_batches(&mut rows, &table("t", &[]), |batch| {
            sent.push(batch.len() / 3);
            Ok(())
        })
        .unwrap();
        assert_eq!(sent, [50_000, 50_000, 20_000]);
    }
}
