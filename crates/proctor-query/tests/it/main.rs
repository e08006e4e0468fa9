//! SQL over evidence, held against ClickHouse itself.

mod corpus;
mod evidence;
mod oracle;
mod random;
