//! Runs in the formats of others, and sessions of others as runs.
//!
//! [`export`] writes a run that is on disk; [`import`] reads files of other tools and hands out their
//! sessions, event by event. Both have a list of formats with one module each. Where a format is read
//! and written, one module does both, so that a round trip can be seen in one place.
//!
//! Everything that is read here was written by somebody else: each reader has limits, takes time
//! proportional to its input, and says what is wrong with file and line.

pub mod atif;
pub mod export;
pub mod import;
mod lines;
pub mod run;
pub mod stream;

pub use run::Run;
