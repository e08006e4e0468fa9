//! Recorded runs of memory systems: the fixture-run envelope, contract version 1, and the report of
//! `proctor score`.

pub mod report;
pub mod run;

/// Version of the rules by which runs are scored.
pub const EVALUATOR_VERSION: &str = "1.0.0";
