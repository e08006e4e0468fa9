//! One file a command: its arguments, and a `run` that turns them into an exit code.

pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod demo;
pub(crate) mod eval;
pub(crate) mod plugin;
pub(crate) mod score;
pub(crate) mod transcript;
