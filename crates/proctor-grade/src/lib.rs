//! Checks: what they say about the evidence of a run.

pub mod json_equal;
pub mod recorded;
pub mod stats;
pub mod text;
