//! From the text of user-written files to the model, with every mistake at once.
//!
//! Each dialect is a module: bytes in, a typed value and [`proctor_model::Diagnostics`] out. What
//! is wrong in the text is never an `Err` and never stops at the first mistake; the caller decides
//! what an invalid file means. An unknown key is a mistake, because a misspelt key that is skipped
//! turns a check off in silence.
//!
//! The dialects share [`tree`]: values that know their place, and strict readers over them. Serde
//! derives are not used for these files, because they end at the first mistake and forget places.

pub mod conformance;
pub mod eval;
pub mod experiment;
pub mod fixture_run;
pub mod labels;
mod read_file;
pub mod tree;
