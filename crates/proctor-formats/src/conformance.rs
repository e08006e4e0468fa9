//! Conformance fixtures: `<root>/<name>/fixture.json` with an optional `input/` beside it.
//!
//! [`parse_fixture`] holds every rule that can be decided from the text; [`discover`] finds and
//! reads the fixtures of a root; [`schema()`] is the same format for editors. Whether a `pattern`
//! compiles, and whether a link leaves the workspace, is decided at run time by `proctor-grade`.

mod check;
mod discover;
mod parse;
mod schema;

pub use discover::{DiscoverError, Discovery, FILE_NAME, FixtureEntry, INPUT_NAME, discover};
pub use parse::{Declared, Parsed, parse_fixture};
pub use schema::schema;
