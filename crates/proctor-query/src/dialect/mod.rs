//! `SELECT`s of ClickHouse as `SELECT`s of SQLite.
//!
//! A statement is parsed with ClickHouse's grammar and translated with the types that ClickHouse
//! gives its parts: SQLite has none, and answers many a question that ClickHouse refuses, or answers
//! it otherwise. What has no equal is refused by name and place. Text never goes through by itself.
//!
//! What SQLite lacks is carried as follows. Arrays, tuples and maps are texts of JSON. Days and
//! times are whole numbers. "Not a number" is NULL in columns of fractions that cannot be NULL.

#![expect(clippy::format_push_string, reason = "a statement is made once, and is short")]

mod aggregates;
mod arrays;
mod call;
mod catalogue;
mod column_name;
mod expr;
mod from;
mod grammar;
mod json;
mod membership;
mod operators;
mod prepare;
mod query;
mod scope;
mod select;
mod times;
mod typed;
mod windows;

use std::rc::Rc;

use sqlparser::ast::{Expr, Statement};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use self::grammar::Grammar;
use crate::types::Type;

/// The longest statement, in bytes.
const MAX_STATEMENT_BYTES: usize = 256 * 1024;
/// The most words and signs of a statement; values and the commas between them do not count, so that
/// lists may be long.
const MAX_TOKENS: usize = 4_000;
/// How deep brackets may be nested.
const MAX_DEPTH: usize = 100;
/// Room for walking the deepest tree that the limits allow.
const STACK_BYTES: usize = 256 << 20;
/// The longest translation, in bytes.
const MAX_SQL_BYTES: usize = 8 << 20;

/// What a statement asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Rows; SQL for SQLite.
    Select {
        /// The statement.
        sql: String,
        /// The columns of the answer: names and types.
        columns: Vec<(String, Type)>,
        /// The format it names, as written.
        format: Option<String>,
    },
    /// The names of the tables.
    Tables,
    /// The columns of a table.
    Columns(String),
}

/// Why a statement is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialectError {
    /// It cannot be parsed.
    #[error("the statement cannot be read: {0}")]
    Syntax(String),
    /// It is no question.
    #[error("only SELECT, WITH, SHOW TABLES and DESCRIBE are answered, one statement at a time")]
    NoQuestion,
    /// ClickHouse has it, and there is no equal here.
    #[error(
        "{what}{} cannot be translated; `--engine clickhouse` answers it", place(*.line, *.column)
    )]
    Unsupported {
        /// What, as people call it.
        what: String,
        /// The line, from 1; 0 when it is not known.
        line: u64,
        /// The column, from 1.
        column: u64,
    },
    /// ClickHouse refuses it, too.
    #[error("{message}{}", place(*.line, *.column))]
    Wrong {
        /// What is wrong.
        message: String,
        /// The line, from 1; 0 when it is not known.
        line: u64,
        /// The column, from 1.
        column: u64,
    },
    /// There is no such function here.
    #[error(
        "unknown function `{name}`{}{}; `--engine clickhouse` has all of ClickHouse's",
        place(*.line, *.column),
        .nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
    )]
    UnknownFunction {
        /// As written.
        name: String,
        /// The line, from 1; 0 when it is not known.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// One that is called alike.
        nearest: Option<String>,
    },
    /// There is no such column.
    #[error(
        "unknown column `{column}`{}{}; {known}", place(*.line, *.at),
        .nearest.as_ref().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
    )]
    UnknownColumn {
        /// As written.
        column: String,
        /// The line, from 1; 0 when it is not known.
        line: u64,
        /// The column in the line, from 1.
        at: u64,
        /// One that is called alike.
        nearest: Option<String>,
        /// The columns that there are.
        known: String,
    },
    /// There is no such table.
    #[error("unknown table `{table}`{}", place(*.line, *.column))]
    UnknownTable {
        /// As written.
        table: String,
        /// The line, from 1; 0 when it is not known.
        line: u64,
        /// The column, from 1.
        column: u64,
    },
    /// It is too long or nested too deep.
    #[error("the statement is too long or nested too deep")]
    TooLarge,
}

fn place(line: u64, column: u64) -> String {
    if line == 0 { String::new() } else { format!(" (line {line}, column {column})") }
}

/// Names and types of columns.
type Columns = Vec<(String, Type)>;
/// The columns of a table, by its name.
pub(crate) type Tables<'a> = &'a (dyn Fn(&str) -> Option<Columns> + Sync);

/// A query that is translated. SQLite knows its columns as `c0`, `c1`, ...
struct Inner {
    sql: String,
    columns: Columns,
}

/// What is known while a statement is translated.
struct Translator<'a> {
    tables: Tables<'a>,
    /// Tables of `WITH`: their names, the names that SQLite knows them by, and their columns.
    ctes: Vec<(String, String, Columns)>,
    /// The same for SQLite: names and queries.
    with: Vec<(String, String)>,
    /// Expressions of `WITH`.
    expressions: Vec<(String, Rc<Expr>)>,
    /// How many sources have a name.
    names: usize,
    /// How many expressions there were.
    parts: usize,
    /// How deep in queries it is.
    depth: usize,
}

/// Translates one statement.
pub(crate) fn translate(text: &str, tables: Tables<'_>) -> Result<Asked, DialectError> {
    if text.len() > MAX_STATEMENT_BYTES {
        return Err(DialectError::TooLarge);
    }
    let mut tokens = Tokenizer::new(&Grammar, text)
        .with_unescape(false)
        .tokenize_with_location()
        .map_err(|error| DialectError::Syntax(error.to_string()))?;
    let is_value = |token: &&TokenWithSpan| {
        use Token::{Comma, Number, SingleQuotedString, Whitespace};
        matches!(token.token, Comma | Number(..) | SingleQuotedString(_) | Whitespace(_))
    };
    if tokens.iter().filter(|token| !is_value(token)).count() > MAX_TOKENS {
        return Err(DialectError::TooLarge);
    }
    let format = prepare::take_format(&mut tokens);
    let tokens = prepare::prepare(tokens)?;
    // Chains of operators become trees as deep as they are long, which are walked by recursion.
    let thread = || std::thread::Builder::new().stack_size(STACK_BYTES);
    std::thread::scope(|scope| {
        let walk = thread().spawn_scoped(scope, || parse(tokens, format, tables));
        let walked = walk.map(std::thread::ScopedJoinHandle::join);
        walked.ok().and_then(Result::ok).unwrap_or(Err(DialectError::TooLarge))
    })
}

fn parse(
    tokens: Vec<TokenWithSpan>,
    format: Option<String>,
    tables: Tables<'_>,
) -> Result<Asked, DialectError> {
    let mut parser =
        Parser::new(&Grammar).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens);
    let mut statements = parser.parse_statements().map_err(|error| match error {
        ParserError::RecursionLimitExceeded => DialectError::TooLarge,
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => {
            DialectError::Syntax(message)
        }
    })?;
    match (statements.pop(), statements.pop()) {
        (Some(Statement::Query(query)), None) => {
            let mut translator = Translator {
                tables,
                ctes: Vec::new(),
                with: Vec::new(),
                expressions: Vec::new(),
                names: 0,
                parts: 0,
                depth: 0,
            };
            let Inner { sql, columns } = translator.query(&query)?;
            let with: Vec<String> =
                translator.with.iter().map(|(name, sql)| format!("{name} AS ({sql})")).collect();
            let sql = if with.is_empty() { sql } else { format!("WITH {} {sql}", with.join(", ")) };
            if sql.len() > MAX_SQL_BYTES {
                return Err(DialectError::TooLarge);
            }
            Ok(Asked::Select { sql, columns, format })
        }
        (Some(Statement::ShowTables { .. }), None) => Ok(Asked::Tables),
        (Some(Statement::ExplainTable { table_name, .. }), None) => {
            Ok(Asked::Columns(table_name.to_string().trim_matches('`').to_owned()))
        }
        _ => Err(DialectError::NoQuestion),
    }
}

#[cfg(test)]
mod tests;
