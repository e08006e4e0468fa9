//! Checks: what they say about the evidence of a run.

pub mod text;
