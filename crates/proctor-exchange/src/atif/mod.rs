//! ATIF, the Agent Trajectory Interchange Format of Harbor (RFC 0001): a session as numbered steps.
//!
//! A step is what one side said, with the calls that it made and what came back of them. Events that
//! are not of that kind have no place in it. Written is version 1.8; versions 1.0 to 1.8 are read.

mod read;
mod write;

pub use read::{read, recognises};
pub use write::{Identity, write};

/// The version that is written.
pub const VERSION: &str = "ATIF-v1.8";

/// Versions that are read.
const KNOWN: [&str; 9] = [
    "ATIF-v1.0",
    "ATIF-v1.1",
    "ATIF-v1.2",
    "ATIF-v1.3",
    "ATIF-v1.4",
    "ATIF-v1.5",
    "ATIF-v1.6",
    "ATIF-v1.7",
    "ATIF-v1.8",
];

/// What stands for a version that nobody knows: the field is required.
const UNKNOWN: &str = "unknown";

// Our own keys in `extra`.
/// Of the document: what ATIF has no fields for.
const OURS: &str = "proctor";
/// Of a step: the call under which a subagent made it.
const PARENT: &str = "parent_tool_call_id";
/// Of a result: how the call ended when it did not succeed.
const STATUS: &str = "status";
/// Of a result: the call that it names and that no step has.
const SOURCE: &str = "source_call_id";
/// Of a call: its arguments were no object and stand under `input`.
const BARE: &str = "bare_input";
/// Of figures: tokens that ATIF does not tell apart.
const CACHE_WRITE: &str = "cache_write_tokens";
const REASONING: &str = "reasoning_tokens";
const TURNS: &str = "turns";

#[cfg(test)]
mod tests;
