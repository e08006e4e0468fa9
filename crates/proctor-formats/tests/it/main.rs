//! The public face of the crate, held against oracles and against what people get wrong.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod discover;
mod eval;
mod eval_lint;
mod eval_schema;
mod experiment;
mod fixture;
mod fixture_run;
mod json;
mod schema;
mod shared_data;
mod yaml;
