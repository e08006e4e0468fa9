//! Evidence in ClickHouse: the same tables, asked in the whole of its SQL.
//!
//! [`local`] is ClickHouse itself on this machine, as a library that is opened at run time in a
//! process of its own; [`install`] fetches that library. [`server`] is a ClickHouse server, where
//! the runs of many machines land.
//!
//! A statement is passed on as it is. What keeps it harmless is not its text but the engine's
//! read-only mode, the limits that every question carries, and, on this machine, a process that may
//! touch nothing but a folder of its own.

mod batch;
mod evidence;
pub mod install;
pub mod local;
mod query;
mod schema;
pub mod server;

pub use batch::Rows;
pub use evidence::tables;
pub use query::{Answer, Error, Query};
pub use schema::{Column, Table};
