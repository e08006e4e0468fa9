//! Conformance testing: fixtures as declared, and the report of a run over them.

pub mod fixture;
pub mod path_rules;
pub mod report;
