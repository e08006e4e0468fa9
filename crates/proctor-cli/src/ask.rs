//! Questions to the evidence of runs, and their answers: what the commands that take SQL share.

use std::io::{self, BufWriter, IsTerminal as _, Write as _};

use clap::ValueEnum;
use proctor_clickhouse::local::{Engine, Places as LibraryPlaces, Start};
use proctor_clickhouse::{Query, tables};
use proctor_model::ExitCode;
use proctor_query::wire::DEFAULT_LIMIT;
use proctor_query::{Ending, Evidence, Format, Limits, QueryError, Scope, Statement};
use proctor_store::evidence::{EvidenceError, Kept};

use crate::context::Context;
use crate::error::CommandError;
use crate::store::{StoreFlag, explain};

/// The memory that an answer may take beside the program's own, in bytes.
const MAX_MEMORY: u64 = 2 << 30;

/// A statement, and how to print its answer.
#[derive(Debug, clap::Args)]
pub(crate) struct Asking {
    /// The statement, in the SQL of ClickHouse; the word `sql` may stand before it.
    #[arg(value_name = "SQL", required_unless_present = "tables", num_args = 1..=2)]
    words: Vec<String>,
    /// List the tables.
    #[arg(long)]
    tables: bool,
    /// How to print rows.
    #[arg(short, long, value_name = "FORMAT", default_value = "json")]
    format: Rows,
    /// The most rows; a warning says when there are more.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
    /// Print every row.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// What answers: the engine that is built in, or ClickHouse itself with the whole of its SQL.
    #[arg(long, value_name = "ENGINE", default_value = "sqlite", conflicts_with = "store")]
    engine: EngineName,
    #[command(flatten)]
    store: StoreFlag,
}

/// What answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// What is built in.
    Sqlite,
    /// ClickHouse on this machine: `proctor engine install clickhouse`.
    Clickhouse,
}

/// How rows are printed, where the statement names no `FORMAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rows {
    /// One JSON object a line.
    Json,
    /// Comma-separated values, with the names of the columns.
    Csv,
    /// Tab-separated values, with the names of the columns.
    Tsv,
    /// A table for people.
    Pretty,
    /// A Parquet file.
    Parquet,
}

impl From<Rows> for Format {
    fn from(rows: Rows) -> Self {
        match rows {
            Rows::Json => Self::Lines,
            Rows::Csv => Self::Csv { has_names: true },
            Rows::Tsv => Self::Tsv { has_names: true },
            Rows::Pretty => Self::Pretty,
            Rows::Parquet => Self::Parquet,
        }
    }
}

impl Rows {
    /// As ClickHouse calls it.
    fn of_clickhouse(self) -> &'static str {
        match self {
            Self::Json => "JSONEachRow",
            Self::Csv => "CSVWithNames",
            Self::Tsv => "TSVWithNames",
            Self::Pretty => "PrettyCompact",
            Self::Parquet => "Parquet",
        }
    }
}

impl Asking {
    /// Whether a server is asked, which may have runs that are not here.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.store.store.is_some()
    }

    /// The statement.
    fn sql(&self) -> Result<&str, CommandError> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] | ["sql"] if self.tables => Ok("SHOW TABLES"),
            [sql] | ["sql", sql] if !self.tables && *sql != "sql" => Ok(sql),
            _ if self.tables => Err(CommandError::usage("`--tables` takes no statement")),
            ["sql"] => Err(CommandError::usage("there is no statement after `sql`")),
            _ => Err(CommandError::usage("there is more than one statement")
                .hint("put the statement into quotes: \"SELECT count() FROM events\"")),
        }
    }

    /// Asks the evidence of the runs in `scope`, and prints the answer.
    pub(crate) fn ask(&self, scope: &Scope, context: &Context) -> Result<ExitCode, CommandError> {
        if let Some(server) = self.store.server(context)? {
            let answer = server.query(&self.query()?, scope, &tables());
            return self.print(&answer.map_err(explain)?, context);
        }
        let statement = match self.engine {
            EngineName::Sqlite => Some(Statement::parse(self.sql()?).map_err(refused)?),
            EngineName::Clickhouse => None,
        };
        let mut kept = Kept::open(&context.cwd, scope).map_err(|error| match error {
            EvidenceError::Query(error) => refused(error),
            EvidenceError::Runs(error) => CommandError::usage(error),
        })?;
        for problem in &kept.problems {
            context.printer.warning(problem);
        }
        let Some(statement) = statement else {
            let answer = ask_clickhouse(&self.query()?, &mut kept.evidence, context);
            return self.print(&answer.map_err(explain)?, context);
        };
        kept.evidence.limit_memory(MAX_MEMORY).map_err(refused)?;
        let rows = if self.all { usize::MAX } else { self.limit };
        let limits = Limits { rows, ..Limits::default() };
        let mut answered = Ok(Ending::default());
        context.printer.bytes(|out| {
            let mut out = BufWriter::new(out);
            answered = statement
                .sink(self.format.into(), &mut out)
                .and_then(|mut sink| kept.evidence.answer(&statement, &limits, &mut *sink));
            match &answered {
                Err(QueryError::Output { kind, message }) => {
                    Err(io::Error::new(*kind, message.clone()))
                }
                _ => out.flush(),
            }
        })?;
        match answered {
            Ok(Ending { rows, is_truncated: true }) => warn_of_more(rows, context),
            // The reader had enough.
            Ok(_) | Err(QueryError::Output { .. }) => {}
            Err(error) => {
                let is_damaged = matches!(error, QueryError::Damaged(_));
                let error = refused(error);
                if is_damaged {
                    kept.discard();
                    return Err(error.hint("it is made anew when you ask again"));
                }
                return Err(error);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What ClickHouse is asked.
    fn query(&self) -> Result<Query<'_>, CommandError> {
        let limit = if self.all { u64::MAX } else { self.limit as u64 };
        Ok(Query { sql: self.sql()?, format: self.format.of_clickhouse(), limit })
    }

    fn print(
        &self,
        answer: &proctor_clickhouse::Answer,
        context: &Context,
    ) -> Result<ExitCode, CommandError> {
        match std::str::from_utf8(&answer.body) {
            // What an agent wrote must not drive the terminal; into files and pipes it goes as it is.
            Ok(text) if io::stdout().is_terminal() => {
                context.printer.data(&proctor_report::inert(text))?;
            }
            _ => context.printer.bytes(|out| out.write_all(&answer.body))?,
        }
        if answer.is_truncated {
            warn_of_more(self.limit, context);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks ClickHouse on this machine, which gets the rows of the tables that the statement names.
fn ask_clickhouse(
    query: &Query<'_>,
    evidence: &mut Evidence,
    context: &Context,
) -> Result<proctor_clickhouse::Answer, proctor_clickhouse::Error> {
    let mut engine = Engine::start(&Start {
        proctor: context.proctor.as_std_path(),
        places: &LibraryPlaces::of(&context.env),
        temporary: context.temporary.as_std_path(),
    })?;
    for table in tables() {
        if query.sql.contains(&table.name) {
            engine.load(&table, evidence)?;
        } else {
            engine.create(&table)?;
        }
    }
    engine.query(query)
}

fn warn_of_more(rows: usize, context: &Context) {
    context.printer.warning(&format!(
        "there are more than these {rows} rows; `--limit N` prints N, and `--all` every row"
    ));
}

/// A question without an answer.
fn refused(error: QueryError) -> CommandError {
    let hint = match &error {
        QueryError::UnknownTable { .. } => Some("`--tables` says what is in each of them"),
        QueryError::UnknownColumn { .. } => {
            Some("`DESCRIBE TABLE` as a statement says what each column holds")
        }
        _ => None,
    };
    let error = CommandError::usage(error);
    hint.into_iter().fold(error, CommandError::hint)
}
