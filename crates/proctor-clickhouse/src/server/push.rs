//! A trial's evidence on its way to a server.
//!
//! What arrives is neither lost nor doubled, however often a request is sent again and whoever dies
//! in between. Each batch carries a token made of the trial, the digest of its evidence, the number
//! of the attempt (the *generation*) and the batch's place, and the server takes a token once. In
//! the end the rows are counted. Where they are not as many as were sent (the server has forgotten
//! the token, or took half a batch), the trial's rows are deleted and sent again as the next
//! generation; so are those of a trial whose evidence has changed since, as by `run rerun --tests`.
//! `proctor_pushes` keeps account of it on the server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::{Server, ServerError};
use crate::batch::{INSERT_SETTINGS, Rows, in_batches, insert};
use crate::query::Error;
use crate::schema::{Table, quoted_name, quoted_text};

/// A trial that is to be sent.
pub struct Trial<'a> {
    /// Its id, which stands in `run_id` of each of its rows.
    pub run_id: &'a str,
    /// Its rows, and no others.
    pub rows: &'a mut dyn Rows,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The same evidence had arrived before.
    WasThere,
    /// So many rows arrived.
    Written(u64),
}

/// An attempt to send a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Attempt {
    generation: u32,
    digest: String,
    is_done: bool,
}

/// What a trial consists of.
struct Content {
    digest: String,
    /// The rows a table, in the order of the tables.
    counts: Vec<u64>,
}

impl Server {
    /// Sends a trial, and makes sure that all of it arrived once. The tables must have been
    /// [prepared](Server::prepare).
    ///
    /// # Errors
    ///
    /// When the server will not or is not there; the same trial can be sent again at any time.
    pub fn push(
        &self,
        tables: &[Table],
        trial: &mut Trial<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<Pushed, Error> {
        let content = content(tables, &mut *trial.rows)?;
        let last = self.last_attempt(trial.run_id)?;
        let attempt =
            |generation| Attempt { generation, digest: content.digest.clone(), is_done: false };
        let mut next = match last {
            None => attempt(1),
            Some(last) if last.digest == content.digest && last.is_done => {
                return Ok(Pushed::WasThere);
            }
            // Somebody died, or is at it: the tokens are the same, so both may send.
            Some(last) if last.digest == content.digest => attempt(last.generation),
            Some(last) => attempt(last.generation + 1),
        };
        let total = content.counts.iter().sum();
        let mut wrong = None;
        for _ in 0..2 {
            self.begin(tables, trial.run_id, &next)?;
            self.send(tables, trial, &next, cancel)?;
            wrong = self.first_wrong(tables, trial.run_id, &content.counts)?;
            if wrong.is_none() {
                next.is_done = true;
                self.note(trial.run_id, &next, total)?;
                return Ok(Pushed::Written(total));
            }
            next.generation += 1;
        }
        let (table, expected, found) = wrong.unwrap_or_default();
        let run_id = trial.run_id.to_owned();
        Err(ServerError::Counts { run_id, table, expected, found }.into())
    }

    /// The latest attempt to send a trial.
    fn last_attempt(&self, run_id: &str) -> Result<Option<Attempt>, ServerError> {
        // `begun` sorts before `done`.
        let said = self.ask(&format!(
            "SELECT generation, digest, state FROM proctor_pushes WHERE run_id = {} ORDER BY \
             generation DESC, state DESC LIMIT 1 FORMAT TSV",
            quoted_text(run_id)
        ))?;
        let line = said.trim_end();
        if line.is_empty() {
            return Ok(None);
        }
        let mut words = line.split('\t');
        let generation = words.next().and_then(|word| word.parse().ok());
        match (generation, words.next(), words.next()) {
            (Some(generation), Some(digest), Some(state)) => Ok(Some(Attempt {
                generation,
                digest: digest.to_owned(),
                is_done: state == "done",
            })),
            _ => Err(ServerError::NotClickHouse(line.chars().take(80).collect())),
        }
    }

    /// Notes that sending begins, and removes what an earlier generation left.
    fn begin(&self, tables: &[Table], run_id: &str, next: &Attempt) -> Result<(), ServerError> {
        self.note(run_id, next, 0)?;
        if next.generation == 1 {
            return Ok(());
        }
        for table in tables {
            let statement = format!(
                "ALTER TABLE {} DELETE WHERE run_id = {}",
                quoted_name(&table.name),
                quoted_text(run_id)
            );
            // Over only when the rows are gone.
            let parameters = [("mutations_sync", "2"), ("wait_end_of_query", "1")];
            self.small(&parameters, statement.as_bytes())?;
        }
        Ok(())
    }

    fn note(&self, run_id: &str, attempt: &Attempt, rows: u64) -> Result<(), ServerError> {
        let state = if attempt.is_done { "done" } else { "begun" };
        self.ask(&format!(
            "INSERT INTO proctor_pushes (run_id, generation, digest, state, row_count) VALUES ({}, \
             {}, {}, '{state}', {rows})",
            quoted_text(run_id),
            attempt.generation,
            quoted_text(&attempt.digest)
        ))
        .map(|_| ())
    }

    fn send(
        &self,
        tables: &[Table],
        trial: &mut Trial<'_>,
        attempt: &Attempt,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        for table in tables {
            let statement = insert(table);
            let mut batch = 0_u32;
            in_batches(&mut *trial.rows, table, |rows| {
                if cancel() {
                    return Err(ServerError::Cancelled.into());
                }
                let token = format!(
                    "{}:{}:{}:{}:{batch}",
                    trial.run_id, attempt.generation, attempt.digest, table.name
                );
                let mut parameters = vec![("query", statement.as_str())];
                parameters.extend(INSERT_SETTINGS);
                parameters.push(("insert_deduplication_token", &token));
                batch += 1;
                let said = self.small(&parameters, rows)?;
                if said.iter().all(u8::is_ascii_whitespace) {
                    return Ok(());
                }
                let said = String::from_utf8_lossy(&said).chars().take(80).collect();
                Err(ServerError::NotClickHouse(said).into())
            })?;
        }
        Ok(())
    }

    /// The first table that does not hold as many rows of a trial as were sent, with both numbers.
    fn first_wrong(
        &self,
        tables: &[Table],
        run_id: &str,
        counts: &[u64],
    ) -> Result<Option<(String, u64, u64)>, ServerError> {
        let selects: Vec<String> = tables
            .iter()
            .map(|table| {
                format!(
                    "SELECT {} AS name, count() AS found FROM {} WHERE run_id = {}",
                    quoted_text(&table.name),
                    quoted_name(&table.name),
                    quoted_text(run_id)
                )
            })
            .collect();
        let said = self.ask(&format!("{} FORMAT TSV", selects.join(" UNION ALL ")))?;
        let found: BTreeMap<&str, u64> = said
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
            .collect();
        Ok(tables.iter().zip(counts).find_map(|(table, expected)| {
            let found = found.get(table.name.as_str()).copied().unwrap_or(0);
            (found != *expected).then(|| (table.name.clone(), *expected, found))
        }))
    }
}

/// The digest of all rows, and how many there are.
fn content(tables: &[Table], rows: &mut dyn Rows) -> Result<Content, Error> {
    let mut digest = Sha256::new();
    let mut counts = Vec::new();
    for table in tables {
        digest.update(format!("\u{1}{}\n", table.name));
        let mut count = 0;
        rows.each(table, &mut |row| {
            digest.update(row);
            digest.update(b"\n");
            count += 1;
            Ok(())
        })?;
        counts.push(count);
    }
    let digest = digest.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    Ok(Content { digest, counts })
}
