//! Tests and limits.

use std::num::NonZeroU32;

use camino::Utf8PathBuf;

use super::name::Slug;
use super::setup::FileEntry;
use crate::Location;

/// A bash script that grades a trial: it passes when the script exits with 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its name, unique in the experiment, also that of its record.
    pub name: Slug,
    /// For people.
    pub description: Option<String>,
    /// What is run.
    pub script: Script,
    /// Staged right before the script, and seen by no agent and no other test.
    pub files: Vec<FileEntry>,
    /// Where and when it is run.
    pub when: When,
    /// The list it stood in, in files of early version 2.
    pub bucket: Option<Bucket>,
    /// Where it stands in the experiment's file.
    pub at: Location,
}

/// The text of a test, or where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// The text itself.
    Inline(String),
    /// A file, relative to the folder of the experiment's file. Only Proctor knows this form.
    File(Utf8PathBuf),
}

/// Where and when a test runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// In a fork of the workspace as the agent left it.
    #[default]
    Snapshot,
    /// In the agent's own room before it is torn down. Only Proctor knows this form.
    Live,
}

impl When {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Live => "live",
        }
    }
}

/// The two lists of tests in files of early version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// What became of the workspace.
    Application,
    /// What the agent did.
    Introspection,
}

impl Bucket {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Introspection => "introspection",
        }
    }
}

/// How long and how much an agent may work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Wall clock of the agent phase, in seconds.
    pub max_time_seconds: NonZeroU32,
    /// Turns of the agent.
    pub max_turns: Option<NonZeroU32>,
    /// What the agent may cost, in US dollars; above 0 and finite.
    pub max_cost_usd: Option<f64>,
}
