//! One file a command: its arguments, and a `run` that turns them into an exit code.

pub(crate) mod attack;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod demo;
pub(crate) mod engine;
pub(crate) mod eval;
pub(crate) mod experiment;
pub(crate) mod judge;
pub(crate) mod plugin;
pub(crate) mod power;
pub(crate) mod query;
pub(crate) mod run;
pub(crate) mod score;
pub(crate) mod search;
pub(crate) mod transcript;
