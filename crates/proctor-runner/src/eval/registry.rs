//! The runners by name: one line each.

use std::num::NonZeroUsize;

use proctor_model::nearest;

use super::runner::Runner;
use super::{command, native, plugin_eval};

/// What the user says about runners.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `--harness`.
    pub harness: String,
    /// `--runner-command`.
    pub command: Option<String>,
    /// `--claude-bin`.
    pub claude_bin: Option<String>,
    /// `--codex-bin`.
    pub codex_bin: Option<String>,
    /// `--judge-model`.
    pub judge_model: Option<String>,
    /// `--runner-arg`.
    pub args: Vec<String>,
    /// `--runs`, above 0; `None` leaves it to the runner.
    pub runs: Option<u32>,
    /// How many sessions run side by side, where the runner can; `None` leaves it to the runner.
    pub jobs: Option<NonZeroUsize>,
}

type Build = fn(&Options) -> Result<Box<dyn Runner>, String>;

/// Every runner of cases, in the order in which they are listed to people.
const RUNNERS: &[(&str, Build)] = &[
    (command::NAME, command::build),
    (plugin_eval::NAME, plugin_eval::build),
    (native::NAME, native::build),
];

/// Why there is no runner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRunner {
    /// None has that name.
    #[error("unknown runner `{name}`{}; there are {}", suggestion(.name), names().join(", "))]
    Unknown {
        /// As written.
        name: String,
    },
    /// It cannot do what the options say.
    #[error("{0}")]
    Unfit(String),
}

fn suggestion(name: &str) -> String {
    let nearest = nearest(name, names());
    nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default()
}

/// The names of the runners of cases.
pub fn names() -> Vec<&'static str> {
    RUNNERS.iter().map(|(name, _)| *name).collect()
}

/// The runner with this name.
pub fn runner(name: &str, options: &Options) -> Result<Box<dyn Runner>, NoRunner> {
    match RUNNERS.iter().find(|(known, _)| *known == name) {
        Some((_, build)) => build(options).map_err(NoRunner::Unfit),
        None => Err(NoRunner::Unknown { name: name.to_owned() }),
    }
}
