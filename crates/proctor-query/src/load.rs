//! What happened, put into the tables.

use proctor_model::Event;
use proctor_model::run::{PhaseName, TestStatus, TrialRecord};
use rusqlite::{Connection, Result, params};

use crate::calendar::date_time_text;
use crate::engine::{Evidence, QueryError, engine};
use crate::event::{Dimensions, Row, Rows, span};
use crate::schema::sqlite::EVENTS_PER_TRIAL;

/// The kind of check that a test of an experiment is.
const TEST: &str = "test";
/// The kind of a setup check.
const SETUP_CHECK: &str = "setup_check";

/// The longest text in a column other than the payload, in bytes.
const MAX_COLUMN_BYTES: usize = 64 * 1024;

/// What a test left.
#[derive(Debug, Clone, Copy)]
pub struct TestOutput<'a> {
    /// Its name.
    pub name: &'a str,
    /// The verdict.
    pub status: TestStatus,
    /// Why it did not pass, where more than the exit code is known.
    pub reason: Option<&'a str>,
    /// Its exit code; `None` when it did not exit by itself.
    pub exit_code: Option<i32>,
    /// In milliseconds.
    pub duration_ms: u64,
    /// The end of its standard output.
    pub stdout: &'a str,
    /// The end of its standard error.
    pub stderr: &'a str,
}

/// The trial to which rows are added.
#[derive(Debug)]
pub(crate) struct Loading {
    id: i64,
    rows: Rows,
    checks: i64,
}

/// One row of `checks`, of `test_output` and of `test_analysis`.
struct Check<'a> {
    name: &'a str,
    kind: &'a str,
    status: &'a str,
    reason: Option<&'a str>,
    exit_code: Option<i32>,
    duration_ms: Option<u64>,
    stdout: &'a str,
    stderr: &'a str,
}

impl Evidence {
    /// Begins a trial; what is added from now on is its. What was known of the same trial goes.
    /// `stamp` is kept with it: see [`Evidence::stamps`].
    ///
    /// # Errors
    ///
    /// [`QueryError`] when SQLite refuses it.
    pub fn begin(
        &mut self,
        trial: &Dimensions,
        stamp: &str,
    ) -> std::result::Result<(), QueryError> {
        self.settle().map_err(|error| engine(&error))?;
        self.remove(&trial.run_request_id, &trial.run_id)?;
        let begun = begin(&self.connection, trial, stamp).map_err(|error| engine(&error))?;
        self.loading = Some(Loading { id: begun, rows: Rows::default(), checks: 0 });
        Ok(())
    }

    /// Adds events to the trial that was begun last, in order.
    ///
    /// # Errors
    ///
    /// [`QueryError`] when SQLite refuses them, or no trial was begun.
    pub fn add_events<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a Event>,
    ) -> std::result::Result<(), QueryError> {
        let (connection, loading) = self.loading()?;
        whole(connection, |connection| {
            for event in events {
                if let Some((place, row)) = loading.rows.row(event) {
                    insert_event(connection, loading.id + place, &row)?;
                }
            }
            Ok(())
        })
    }

    /// Adds what a test left to the trial that was begun last.
    ///
    /// # Errors
    ///
    /// As of [`Evidence::add_events`].
    pub fn add_test(&mut self, test: &TestOutput<'_>) -> std::result::Result<(), QueryError> {
        let (connection, loading) = self.loading()?;
        let check = Check {
            name: test.name,
            kind: TEST,
            status: test.status.as_str(),
            reason: test.reason,
            exit_code: test.exit_code,
            duration_ms: Some(test.duration_ms),
            stdout: test.stdout,
            stderr: test.stderr,
        };
        loading.insert_check(connection, &check).map_err(|error| engine(&error))
    }

    /// Ends the trial that was begun last: what it came to, its checks, and its phases as events.
    /// Its tests are those of the record, and may not have been added before.
    ///
    /// # Errors
    ///
    /// As of [`Evidence::add_events`].
    pub fn finish(&mut self, record: &TrialRecord) -> std::result::Result<(), QueryError> {
        let (connection, loading) = self.loading()?;
        whole(connection, |connection| {
            for phase in &record.phases {
                let place = loading.rows.place();
                insert_event(connection, loading.id + place, &span(phase))?;
            }
            for check in record_checks(record) {
                loading.insert_check(connection, &check)?;
            }
            verdict(connection, loading.id, record)
        })
    }

    /// Says what is not right with the evidence of the trial that was begun last.
    ///
    /// # Errors
    ///
    /// As of [`Evidence::add_events`].
    pub fn note(&mut self, problem: &str) -> std::result::Result<(), QueryError> {
        let (connection, loading) = self.loading()?;
        connection
            .execute(
                "UPDATE stored_trial SET problem = ?2 WHERE id = ?1",
                params![loading.id, problem],
            )
            .map(|_| ())
            .map_err(|error| engine(&error))
    }

    /// Takes a trial away; nothing happens when it is not there.
    ///
    /// # Errors
    ///
    /// [`QueryError`] when SQLite refuses it.
    pub fn remove(&mut self, run: &str, trial: &str) -> std::result::Result<(), QueryError> {
        self.loading = None;
        remove(&self.connection, run, trial).map_err(|error| engine(&error))
    }

    /// Writes what calls of tools came to. Done before anything is asked, and not at every event,
    /// since calls have many.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let Some(loading) = &mut self.loading else { return Ok(()) };
        let id = loading.id;
        let mut changed = loading.rows.changed().peekable();
        if changed.peek().is_none() {
            return Ok(());
        }
        in_transaction(&self.connection, |connection| {
            let mut statement = connection.prepare_cached(
                "INSERT OR REPLACE INTO stored_call VALUES \
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )?;
            for (name, call) in changed {
                let at = |place: i64| id + place;
                let meaning = crate::event::Meaning::from(&call.action);
                statement.execute(params![
                    at(call.first),
                    short(name),
                    short(&call.name),
                    call.status,
                    call.input.map(at),
                    call.output.map(at),
                    at(call.last),
                    meaning.skill.map(short),
                    meaning.file_path.map(short),
                    meaning.mcp_server.map(short),
                    meaning.mcp_tool.map(short),
                    meaning.command.map(short),
                    meaning.action,
                    meaning.argument.as_deref().map(short),
                    call.started_ms.and_then(|ms| whole_number(ms)?.checked_mul(1_000_000)),
                ])?;
            }
            Ok(())
        })
    }

    fn loading(&mut self) -> std::result::Result<(&Connection, &mut Loading), QueryError> {
        let none = || QueryError::Engine("no trial was begun to which it could belong".to_owned());
        Ok((&self.connection, self.loading.as_mut().ok_or_else(none)?))
    }
}

impl Loading {
    fn insert_check(&mut self, connection: &Connection, check: &Check<'_>) -> Result<()> {
        let mut statement = connection.prepare_cached(
            "INSERT INTO stored_check VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        let id = self.id + self.checks;
        self.checks += 1;
        statement.execute(params![
            id,
            check.name,
            check.kind,
            check.status,
            check.reason,
            check.exit_code,
            check.duration_ms.and_then(whole_number),
            check.stdout,
            check.stderr
        ])?;
        Ok(())
    }
}

fn whole<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> std::result::Result<T, QueryError> {
    in_transaction(connection, work).map_err(|error| engine(&error))
}

/// All of it or nothing; part of a transaction that is under way.
pub(crate) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    if !connection.is_autocommit() {
        return work(connection);
    }
    let transaction = connection.unchecked_transaction()?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

fn begin(connection: &Connection, trial: &Dimensions, stamp: &str) -> Result<i64> {
    let last: i64 =
        connection
            .query_row("SELECT coalesce(max(id), 0) FROM stored_trial", [], |row| row.get(0))?;
    let id = last + EVENTS_PER_TRIAL;
    connection.execute(
        "INSERT INTO stored_trial (id, run_id, run_request_id, run_kind, experiment_id, variant_id, \
         agent, model, prompt_id, resolved_extend_id, effort, environment, product, repeat_idx, \
         stamp) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            id,
            trial.run_id,
            trial.run_request_id,
            trial.run_kind,
            trial.experiment_id,
            trial.variant_id,
            trial.agent,
            trial.model,
            trial.prompt_id,
            trial.extension_id,
            trial.effort,
            trial.environment,
            trial.product,
            trial.repeat_idx,
            stamp
        ],
    )?;
    Ok(id)
}

fn remove(connection: &Connection, run: &str, trial: &str) -> Result<()> {
    in_transaction(connection, |connection| {
        let mut find = connection.prepare_cached(
            "SELECT id FROM stored_trial WHERE run_id = ?1 AND run_request_id = ?2",
        )?;
        let ids: Vec<i64> =
            find.query_map([trial, run], |row| row.get(0))?.collect::<Result<_>>()?;
        for id in ids {
            for table in ["stored_event", "stored_call", "stored_check", "stored_trial"] {
                connection.execute(
                    &format!("DELETE FROM {table} WHERE id >= ?1 AND id < ?2"),
                    [id, id + EVENTS_PER_TRIAL],
                )?;
            }
        }
        Ok(())
    })
}

fn insert_event(connection: &Connection, id: i64, row: &Row<'_>) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO stored_event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, \
         ?14, ?15, ?16, ?17, ?18)",
    )?;
    let Row { source, kind, tool_call_id, assertion_role, payload, role, .. } = row;
    let meaning = &row.meaning;
    statement.execute(params![
        id,
        source,
        kind,
        tool_call_id.map(short),
        assertion_role,
        role,
        row.tool_name.map(short),
        row.status,
        meaning.skill.map(short),
        meaning.file_path.map(short),
        meaning.mcp_server.map(short),
        meaning.mcp_tool.map(short),
        meaning.command.map(short),
        meaning.action,
        meaning.argument.as_deref().map(short),
        row.parent.map(short),
        row.ts_ms.and_then(whole_number),
        payload
    ])?;
    Ok(())
}

fn record_checks(record: &TrialRecord) -> impl Iterator<Item = Check<'_>> {
    let setups = record.checks.iter().map(|check| Check {
        name: &check.name,
        kind: SETUP_CHECK,
        status: if check.exit_code == 0 { "passed" } else { "failed" },
        reason: None,
        exit_code: Some(check.exit_code),
        duration_ms: Some(check.duration_ms),
        stdout: &check.stdout_tail,
        stderr: &check.stderr_tail,
    });
    let tests = record.tests.iter().map(|test| Check {
        name: &test.name,
        kind: TEST,
        status: test.status.as_str(),
        reason: test.reason.as_deref(),
        exit_code: test.exit_code,
        duration_ms: Some(test.duration_ms),
        stdout: &test.stdout_tail,
        stderr: &test.stderr_tail,
    });
    let graded = record.graded.iter().map(|check| Check {
        name: &check.name,
        kind: &check.kind,
        status: check.status.as_str(),
        reason: check.reason.as_deref(),
        exit_code: None,
        duration_ms: None,
        stdout: "",
        stderr: "",
    });
    setups.chain(tests).chain(graded)
}

fn verdict(connection: &Connection, id: i64, record: &TrialRecord) -> Result<()> {
    let count = |wanted: &[TestStatus]| {
        let found = record.tests.iter().filter(|test| wanted.contains(&test.status)).count();
        whole_number(found as u64)
    };
    let agent = record.phases.iter().position(|phase| phase.phase == PhaseName::Agent);
    let before = |until: usize| {
        let past: u64 = record.phases.iter().take(until).map(|phase| phase.duration_ms).sum();
        time(record.started_at.saturating_add(past))
    };
    let agent_ms = agent.and_then(|at| record.phases.get(at)).map(|phase| phase.duration_ms);
    let usage = record.usage.unwrap_or_default();
    let number = |value: Option<u64>| value.and_then(whole_number);
    let cost = usage.cost_usd.and_then(micros);
    connection.execute(
        "UPDATE stored_trial SET status = ?2, exit_reason = ?3, reason = ?4, isolation = ?5, \
         started_at = ?6, ended_at = ?7, agent_started_at = ?8, agent_ended_at = ?9, \
         agent_time_ms = ?10, num_turns = ?11, test_pass_count = ?12, test_fail_count = ?13, \
         tool_calls_total = ?14, tool_calls_failed = ?15, input_tokens = ?16, output_tokens = ?17, \
         cached_read_tokens = ?18, cached_write_tokens = ?19, cost_usd_micros = ?20, \
         cost_source = ?21 WHERE id = ?1",
        params![
            id,
            record.status.as_str(),
            record.exit_reason.as_str(),
            record.reason,
            record.isolation.as_ref().map(|isolation| isolation.level.as_str()),
            time(record.started_at),
            time(record.ended_at),
            agent.map(before),
            agent.map(|at| before(at + 1)),
            number(agent_ms),
            number(usage.turns),
            count(&[TestStatus::Passed]),
            count(&[TestStatus::Failed, TestStatus::EvidenceError]),
            whole_number(record.tool_calls),
            whole_number(record.tool_calls_failed),
            number(usage.input_tokens),
            number(usage.output_tokens),
            number(usage.cache_read_tokens),
            number(usage.cache_write_tokens),
            cost,
            cost.map(|_| "agent"),
        ],
    )?;
    Ok(())
}

/// The beginning of a text that is too long for a column of its own; all of it is in the payload.
fn short(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_COLUMN_BYTES)).unwrap_or_default()
}

fn whole_number(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// Millionths; `None` for what is no sum of money.
fn micros(dollars: f64) -> Option<i64> {
    let micros = (dollars * 1e6).round();
    #[expect(clippy::cast_possible_truncation, reason = "checked")]
    (0.0..9e15).contains(&micros).then_some(micros as i64)
}

/// `2026-12-01 03:07:19.250`, in UTC, of milliseconds since 1970.
fn time(ms: u64) -> String {
    date_time_text(i64::try_from(ms).unwrap_or(i64::MAX), 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        for (ms, expected) in [
            (0, "1970-01-01 00:00:00.000"),
            (951_782_400_007, "2000-02-29 00:00:00.007"),
            (1_796_094_439_250, "2026-12-01 03:07:19.250"),
            (4_107_542_399_999, "2100-02-28 23:59:59.999"),
            (4_107_542_400_000, "2100-03-01 00:00:00.000"),
        ] {
            assert_eq!(time(ms), expected);
        }
    }

    #[test]
    fn money_is_counted_in_millionths() {
        assert_eq!(micros(0.123_456_7), Some(123_457));
        assert_eq!((micros(f64::NAN), micros(-1.0), micros(1e300)), (None, None, None));
    }
}
