//! Evidence, and questions to it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use proctor_model::nearest;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::answer::{Answer, Cell, Collector, Ending, Heading, Sink};
use crate::dialect::{Asked, DialectError, translate};
use crate::event::Dimensions;
use crate::format::Format;
use crate::load::Loading;
use crate::schema::sqlite::{self, Scope};
use crate::types::Type;
use crate::{functions, schema};

/// Steps of SQLite's machine between two looks at the clock: a step may be a function that works on
/// a long text.
const STEPS: i32 = 200;
/// The longest text that a statement may make, in bytes.
const MAX_LENGTH: i32 = 64 << 20;
/// The most that an answer in memory may take, in bytes.
pub(crate) const MAX_ANSWER_BYTES: usize = 256 << 20;
/// How long a process waits for another that writes the same file.
const PATIENCE: Duration = Duration::from_mins(1);

/// Evidence of one trial or of many, in memory or in a file.
#[derive(Debug)]
pub struct Evidence {
    pub(crate) connection: Connection,
    pub(crate) loading: Option<Loading>,
    scope: Scope,
}

/// How far a statement may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most rows; further ones are left out, which is told.
    pub rows: usize,
    /// How long it may take.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rows: crate::wire::DEFAULT_LIMIT, time: Duration::from_mins(1) }
    }
}

/// A statement that was understood.
#[derive(Debug)]
pub struct Statement {
    asked: Asked,
}

impl Statement {
    /// Reads a statement.
    ///
    /// # Errors
    ///
    /// [`QueryError::Dialect`] when it is no question, or cannot be translated.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Ok(Self { asked: translate(text, &columns_of)? })
    }

    /// The format that it names at its end, as written.
    pub fn format(&self) -> Option<&str> {
        match &self.asked {
            Asked::Select { format, .. } => format.as_deref(),
            Asked::Tables | Asked::Columns(_) => None,
        }
    }

    /// What writes its answer to `out`: the format that it names, else `otherwise`.
    ///
    /// # Errors
    ///
    /// [`QueryError::UnknownFormat`] when it names none that there is.
    pub fn sink<'a>(
        &self,
        otherwise: Format,
        out: &'a mut dyn io::Write,
    ) -> Result<Box<dyn Sink + 'a>, QueryError> {
        Ok(self.format().map_or(Ok(otherwise), Format::named)?.sink(out))
    }
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The statement cannot be translated.
    #[error(transparent)]
    Dialect(DialectError),
    /// There is no such column.
    #[error("unknown column `{column}`{place}{}; {tables}", did_you_mean(.nearest.as_deref()))]
    UnknownColumn {
        /// As written.
        column: String,
        /// Its line and column in the statement, in brackets.
        place: String,
        /// One that is called alike.
        nearest: Option<String>,
        /// The columns of the tables that the statement names.
        tables: String,
    },
    /// There is no such table.
    #[error(
        "unknown table `{table}`{}; there are {}",
        did_you_mean(nearest(.table, schema::tables())),
        schema::tables().collect::<Vec<_>>().join(", ")
    )]
    UnknownTable {
        /// As written.
        table: String,
    },
    /// There is no such format.
    #[error(
        "unknown format `{name}`; there are {}",
        Format::names().collect::<Vec<_>>().join(", ")
    )]
    UnknownFormat {
        /// As written.
        name: String,
    },
    /// It took too long.
    #[error("the statement was ended after {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The answer does not fit into memory.
    #[error("the answer is larger than {} MiB; ask for fewer rows or columns", MAX_ANSWER_BYTES >> 20)]
    TooLarge,
    /// Who took the rows could not take them.
    #[error("the rows cannot be written: {message}")]
    Output {
        /// What kind of failure it was.
        kind: io::ErrorKind,
        /// What was said of it.
        message: String,
    },
    /// It needs too much memory.
    #[error("the statement needs more memory than it may take; ask for fewer rows or columns")]
    OutOfMemory,
    /// The file of evidence is damaged.
    #[error("the kept evidence is damaged: {0}")]
    Damaged(String),
    /// A file of evidence that another version made, or that is something else.
    #[error("the evidence was kept by another version of proctor")]
    Foreign,
    /// The engine refuses it.
    #[error("{0}")]
    Engine(String),
}

impl From<DialectError> for QueryError {
    fn from(error: DialectError) -> Self {
        match error {
            DialectError::UnknownTable { table, .. } => Self::UnknownTable { table },
            DialectError::UnknownColumn { column, line, at, nearest, known } => {
                let place =
                    if line == 0 { String::new() } else { format!(" (line {line}, column {at})") };
                Self::UnknownColumn { column, place, nearest, tables: known }
            }
            other => Self::Dialect(other),
        }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!(", did you mean `{nearest}`?")).unwrap_or_default()
}

impl Evidence {
    /// The evidence of a trial of which nothing has happened yet, in memory.
    ///
    /// # Errors
    ///
    /// [`QueryError::Engine`] when SQLite cannot start.
    pub fn new(trial: &Dimensions) -> Result<Self, QueryError> {
        let mut evidence = Self::in_memory()?;
        evidence.begin(trial, "")?;
        Ok(evidence)
    }

    /// Evidence of no trial, in memory.
    ///
    /// # Errors
    ///
    /// As of [`Evidence::new`].
    pub fn in_memory() -> Result<Self, QueryError> {
        let open = || {
            let connection = Connection::open_in_memory()?;
            sqlite::create(&connection)?;
            Self::with(connection)
        };
        open().map_err(|error| engine(&error))
    }

    /// The evidence in a file. Several processes may have it open, but only one may make it, which is
    /// done when it is not there.
    ///
    /// # Errors
    ///
    /// [`QueryError::Foreign`] when the file is of another version, or none of ours,
    /// [`QueryError::Damaged`] when it is no such file at all, [`QueryError::Engine`] when it cannot be
    /// used.
    pub fn open(path: &Path) -> Result<Self, QueryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            if sqlite::is_empty(&connection)? {
                // Readers and a writer do not wait for each other. File systems without shared
                // memory keep the older way.
                connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
                crate::load::in_transaction(&connection, sqlite::create)?;
            }
            if sqlite::is_current(&connection)? {
                Self::with(connection).map(Some)
            } else {
                Ok(None)
            }
        };
        open().map_err(|error| engine(&error))?.ok_or(QueryError::Foreign)
    }

    fn with(connection: Connection) -> rusqlite::Result<Self> {
        // A mistyped column in double quotes is a mistake, not a text.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_LENGTH)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        // It would sort whole tables, payloads and all, to find rows that are read in order anyway.
        connection.pragma_update(None, "automatic_index", false)?;
        functions::register(&connection)?;
        sqlite::register(&connection)?;
        sqlite::show(&connection, &Scope::All)?;
        Ok(Self { connection, loading: None, scope: Scope::All })
    }

    /// Lets the tables show what is in `scope` from now on.
    ///
    /// # Errors
    ///
    /// [`QueryError::Engine`] when SQLite refuses it.
    pub fn show(&mut self, scope: &Scope) -> Result<(), QueryError> {
        sqlite::show(&self.connection, scope).map_err(|error| engine(&error))?;
        self.scope = scope.clone();
        Ok(())
    }

    /// Lets SQLite take so many bytes of memory, for all evidence of this process together, and no
    /// room on the disk beside its files. It cannot be raised again.
    ///
    /// # Errors
    ///
    /// [`QueryError`] when SQLite refuses it.
    pub fn limit_memory(&self, bytes: u64) -> Result<(), QueryError> {
        let sql = format!("PRAGMA temp_store = MEMORY; PRAGMA hard_heap_limit = {bytes};");
        self.connection
            .execute_batch(&sql)
            .and_then(|()| sqlite::show(&self.connection, &self.scope))
            .map_err(|error| engine(&error))
    }

    /// Does several things as one: all of it or nothing. Nobody else changes the same file meanwhile.
    ///
    /// # Errors
    ///
    /// Those of `work`, and [`QueryError`] when SQLite refuses it.
    pub fn within<T, E: From<QueryError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let run = |evidence: &Self, sql: &str| {
            evidence.connection.execute_batch(sql).map_err(|error| engine(&error))
        };
        run(self, "BEGIN IMMEDIATE")?;
        let done = work(self).and_then(|done| {
            self.settle().map_err(|error| engine(&error))?;
            run(self, "COMMIT")?;
            Ok(done)
        });
        self.loading = None;
        if done.is_err() && !self.connection.is_autocommit() {
            // What failed is told already.
            let _ = run(self, "ROLLBACK");
        }
        done
    }

    /// The trials in scope, with the stamps that they were begun with: by run and trial.
    ///
    /// # Errors
    ///
    /// [`QueryError`] when they cannot be read.
    pub fn stamps(&self) -> Result<BTreeMap<(String, String), String>, QueryError> {
        self.pairs("SELECT run_request_id, run_id, stamp FROM stored_scope")
    }

    /// What is not right with the trials in scope, by run and trial.
    ///
    /// # Errors
    ///
    /// As of [`Evidence::stamps`].
    pub fn problems(&self) -> Result<BTreeMap<(String, String), String>, QueryError> {
        self.pairs(
            "SELECT run_request_id, run_id, problem FROM stored_scope WHERE problem IS NOT NULL",
        )
    }

    fn pairs(&self, sql: &str) -> Result<BTreeMap<(String, String), String>, QueryError> {
        let read = || -> rusqlite::Result<_> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let pair = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
            statement.query_map([], pair)?.collect()
        };
        read().map_err(|error| engine(&error))
    }

    /// Answers one statement with at most `limit` rows, in memory.
    ///
    /// # Errors
    ///
    /// [`QueryError`] when it cannot be answered. It never changes anything.
    pub fn query(&mut self, statement: &str, limit: usize) -> Result<Answer, QueryError> {
        let statement = Statement::parse(statement)?;
        let mut collector = Collector::new(MAX_ANSWER_BYTES);
        let limits = Limits { rows: limit, ..Limits::default() };
        let ending = self.answer(&statement, &limits, &mut collector)?;
        Ok(Answer {
            columns: collector.columns(),
            rows: collector.rows,
            is_truncated: ending.is_truncated,
            format: statement.format().map(str::to_owned),
        })
    }

    /// Answers one statement row by row.
    ///
    /// # Errors
    ///
    /// [`QueryError`] when it cannot be answered, or `sink` refuses a row. It never changes anything.
    pub fn answer(
        &mut self,
        statement: &Statement,
        limits: &Limits,
        sink: &mut dyn Sink,
    ) -> Result<Ending, QueryError> {
        match &statement.asked {
            Asked::Tables => list(
                ["name", "comment"],
                schema::TABLES.iter().map(|table| [table.name.to_owned(), table.doc.to_owned()]),
                sink,
            ),
            Asked::Columns(name) => {
                let unknown = || QueryError::UnknownTable { table: name.clone() };
                let table = schema::table(name).ok_or_else(unknown)?;
                let columns = table.columns.iter();
                let row = |column: &schema::Column| {
                    [column.name.to_owned(), column.clickhouse_type(), column.doc.to_owned()]
                };
                list(["name", "type", "comment"], columns.map(row), sink)
            }
            Asked::Select { sql, columns, .. } => {
                self.select(sql, columns, limits, sink).map_err(|failure| failure.explain(limits))
            }
        }
    }

    /// Every row of a table, in the order of its key as far as it is kept so, with the columns of
    /// [`schema::Table::columns`].
    ///
    /// # Errors
    ///
    /// [`QueryError`] when there is no such table, or `sink` refuses a row.
    pub fn rows(&mut self, table: &str, sink: &mut dyn Sink) -> Result<Ending, QueryError> {
        let unknown = || QueryError::UnknownTable { table: table.to_owned() };
        let table = schema::table(table).ok_or_else(unknown)?;
        self.settle().map_err(|error| engine(&error))?;
        let sql = format!("SELECT * FROM {}", table.name);
        let limits = Limits { rows: usize::MAX, time: Duration::MAX };
        let plain = |column: &schema::Column| {
            // Moments are texts in the tables themselves.
            let ty = match column.kind {
                schema::Kind::Time => Type::String,
                kind => Type::read(kind.clickhouse_type()).unwrap_or_default(),
            };
            (column.name.to_owned(), ty.nullable_if(column.nullable))
        };
        let columns: Vec<(String, Type)> = table.columns.iter().map(plain).collect();
        self.give(&sql, &columns, &limits, sink).map_err(|failure| failure.explain(&limits))
    }

    fn select(
        &mut self,
        sql: &str,
        columns: &[(String, Type)],
        limits: &Limits,
        sink: &mut dyn Sink,
    ) -> Result<Ending, Failure> {
        self.settle()?;
        let deadline = Instant::now().checked_add(limits.time);
        let is_late = move || deadline.is_some_and(|deadline| Instant::now() > deadline);
        self.connection.progress_handler(STEPS, Some(is_late))?;
        self.connection.authorizer(Some(authorize))?;
        let given = self.give(sql, columns, limits, sink);
        self.connection.authorizer::<fn(AuthContext<'_>) -> Authorization>(None)?;
        self.connection.progress_handler::<fn() -> bool>(0, None)?;
        given
    }

    fn give(
        &self,
        sql: &str,
        columns: &[(String, Type)],
        limits: &Limits,
        sink: &mut dyn Sink,
    ) -> Result<Ending, Failure> {
        let mut statement = self.connection.prepare(sql)?;
        let heading = |(name, ty): &(String, Type)| Heading { name: name.clone(), ty: ty.clone() };
        let headings: Vec<Heading> = columns.iter().map(heading).collect();
        sink.columns(&headings)?;
        let mut found = statement.query([])?;
        let mut ending = Ending::default();
        while let Some(row) = found.next()? {
            if ending.rows >= limits.rows {
                ending.is_truncated = true;
                break;
            }
            let cells: Vec<Cell<'_>> = (0..headings.len())
                .map(|at| row.get_ref(at).map(cell))
                .collect::<rusqlite::Result<_>>()?;
            sink.row(&cells)?;
            ending.rows += 1;
        }
        sink.end()?;
        Ok(ending)
    }
}

/// Questions read the views, and what the views read.
fn authorize(context: AuthContext<'_>) -> Authorization {
    let is_view = |name: &str| name == "stored_scope" || schema::table(name).is_some();
    match context.action {
        AuthAction::Select | AuthAction::Function { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Read { table_name, column_name } => {
            let is_base = table_name.starts_with("stored_");
            // Of a table without a column nothing is read but that it has rows.
            let is_through_view = column_name.is_empty() || context.accessor.is_some_and(is_view);
            // `json_each` makes rows of a text, and reads nothing else.
            if is_view(table_name) || table_name == "json_each" || (is_base && is_through_view) {
                Authorization::Allow
            } else {
                Authorization::Deny
            }
        }
        _ => Authorization::Deny,
    }
}

/// The columns of a table with their types in ClickHouse.
fn columns_of(table: &str) -> Option<Vec<(String, Type)>> {
    let columns = schema::table(table)?.columns.iter();
    let typed = |column: &schema::Column| {
        let ty = Type::read(column.kind.clickhouse_type()).unwrap_or_default();
        (column.name.to_owned(), ty.nullable_if(column.nullable))
    };
    Some(columns.map(typed).collect())
}

fn cell(value: ValueRef<'_>) -> Cell<'_> {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Whole(number),
        ValueRef::Real(number) => Cell::Float(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => Cell::Text(String::from_utf8_lossy(text)),
    }
}

fn list<const N: usize>(
    columns: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    sink: &mut dyn Sink,
) -> Result<Ending, QueryError> {
    let give = |sink: &mut dyn Sink| {
        let heading = |name: &str| Heading { name: name.to_owned(), ty: Type::String };
        sink.columns(&columns.map(heading))?;
        let mut ending = Ending::default();
        for row in rows {
            sink.row(&row.map(|text| Cell::Text(text.into())))?;
            ending.rows += 1;
        }
        sink.end()?;
        Ok(ending)
    };
    give(sink).map_err(|error: io::Error| output(&error))
}

/// Why an answer broke off.
enum Failure {
    Engine(rusqlite::Error),
    Output(io::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Failure {
    fn explain(self, limits: &Limits) -> QueryError {
        match self {
            Self::Engine(error) => explain(&error, limits),
            Self::Output(error) => output(&error),
        }
    }
}

fn output(error: &io::Error) -> QueryError {
    match error.kind() {
        io::ErrorKind::OutOfMemory => QueryError::TooLarge,
        kind => QueryError::Output { kind, message: error.to_string() },
    }
}

/// What SQLite says of something that nobody asked for.
pub(crate) fn engine(error: &rusqlite::Error) -> QueryError {
    damaged(error).unwrap_or_else(|| QueryError::Engine(error.to_string()))
}

fn damaged(error: &rusqlite::Error) -> Option<QueryError> {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let is_damage = matches!(error.sqlite_error_code()?, DatabaseCorrupt | NotADatabase);
    is_damage.then(|| QueryError::Damaged(error.to_string()))
}

/// What a failure means to whoever wrote the statement.
fn explain(error: &rusqlite::Error, limits: &Limits) -> QueryError {
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
        return QueryError::TimedOut(limits.time);
    }
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OutOfMemory) {
        return QueryError::OutOfMemory;
    }
    if let Some(damaged) = damaged(error) {
        return damaged;
    }
    let message = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    // Tables that are there and that nobody may ask are none.
    let hidden =
        || message.strip_prefix("access to ")?.strip_suffix(" is prohibited")?.split('.').next();
    match message.strip_prefix("no such table: ").or_else(hidden) {
        Some(table) => QueryError::UnknownTable { table: table.to_owned() },
        None => QueryError::Engine(message),
    }
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
