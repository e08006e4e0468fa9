//! Evidence as tables: what happened in trials, and SQL over it.
//!
//! [`Evidence`] holds events, checks and verdicts in SQLite, of one trial in memory or of many in a
//! file, and answers `SELECT`s in the dialect of ClickHouse, in which people's tests are written:
//! [`dialect`] translates a statement, and the functions of ClickHouse that have no equal are
//! registered natively. What cannot be translated is an error that names the construct and its
//! place. [`schema`] says which tables there are.
//!
//! [`wire`] is what a test's `ax-run-query` and the run say to each other over a socket.

mod answer;
mod calendar;
mod dialect;
mod engine;
mod event;
mod format;
mod functions;
mod load;
pub mod parquet;
pub mod schema;
mod types;
pub mod wire;

pub use answer::{Answer, Cell, Ending, Heading, JsonLines, Sink};
pub use engine::{Evidence, Limits, QueryError, Statement};
pub use event::Dimensions;
pub use format::{Format, Value};
pub use load::TestOutput;
pub use schema::sqlite::Scope;
pub use schema::{EVIDENCE_VERSION, columns, tables};
pub use types::Type;

/// The version of SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
