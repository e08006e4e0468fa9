//! A conformance fixture, after validation. Wrong states cannot be written down here: parsing and
//! every rule live in `proctor-formats`.

use std::time::Duration;

/// Where a check stands in a trial.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// After the installation, before the harness.
    Install,
    /// After the harness.
    Result,
}

impl Phase {
    /// The word used in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Result => "result",
        }
    }
}

/// One fixture: what to install, what to ask, what must hold afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixture {
    /// Unique in its root, and equal to its directory's name.
    pub name: String,
    /// One line for people.
    pub description: Option<String>,
    /// What the agent is asked.
    pub prompt: String,
    /// Profiles; empty inherits the invoking selection.
    pub profiles: Vec<String>,
    /// Languages; empty inherits the invoking selection.
    pub languages: Vec<String>,
    /// Harness ids; empty means any.
    pub harnesses: Vec<String>,
    /// Paths whose explicit reading is reported; they decide nothing.
    pub expected_instruction_paths: Vec<String>,
    /// The checks in file order; at least one is a required result-phase check.
    pub checks: Vec<Check>,
    /// The bounds that it asks for.
    pub bounds: FixtureBounds,
}

/// The bounds that a fixture asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FixtureBounds {
    /// Wall clock for the whole trial.
    pub timeout: Option<Duration>,
    /// US dollars, above zero.
    pub max_budget_usd: Option<f64>,
    /// Model turns, above zero.
    pub max_turns: Option<u32>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// When it runs.
    pub phase: Phase,
    /// An optional check is reported and never decides.
    pub optional: bool,
    /// What it looks at.
    pub kind: CheckKind,
}

/// What a check looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckKind {
    /// At least one regular file is there.
    FileExists(Target),
    /// Nothing is there.
    FileAbsent(Target),
    /// Every selected file matches the .NET pattern, and there is one.
    FileMatches(Target, String),
    /// No selected file matches the .NET pattern, and there is one.
    FileNotMatches(Target, String),
    /// The command exits with the code.
    Command {
        /// Executable and arguments; no shell.
        run: Vec<String>,
        /// The expected exit code.
        exit_code: i32,
    },
}

impl CheckKind {
    /// The `type` of the file format.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::FileExists(_) => "file_exists",
            Self::FileAbsent(_) => "file_absent",
            Self::FileMatches(..) => "file_matches",
            Self::FileNotMatches(..) => "file_not_matches",
            Self::Command { .. } => "command",
        }
    }
}

/// Which files a check selects, relative to the workspace root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One path. Links in it are followed while they stay inside the workspace.
    Path(String),
    /// `*` within a segment, `**` as a whole segment; everything else is literal.
    Glob(String),
}
