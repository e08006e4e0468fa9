//! Fixture-runs: recorded runs of memory systems, contract version 1.
//!
//! A run is read in two steps. [`Document::parse`] takes the text apart, [`Document::run`] holds
//! it against the contract. Text of any size is read fast, because a valid run is one of many: a
//! parser that borrows from the text and knows nothing of places does the work, and only when it
//! refuses does [`crate::tree`] read the text again to say where and why.

pub mod adapters;
mod contract;
mod describe;
mod file;
pub mod import;
mod parse;
mod schema;
mod violations;

pub use contract::{ActualSource, Broken};
pub use file::{open, read};
pub use parse::Document;
pub use schema::schema;
pub use violations::MAX_VIOLATIONS;

/// The longest run that is read: 16 MiB.
pub const MAX_BYTES: u64 = crate::tree::MAX_BYTES;
