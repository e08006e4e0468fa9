//! The report of `proctor conformance test`: schema version 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fixture::Phase;
use crate::{Bound, CheckStatus, Outcome, Usage};

/// Version of the report's shape; grows only when a reader could misread an older one.
pub const SCHEMA_VERSION: u32 = 1;

/// The warning that stands in a report without a passed result.
pub const NOTHING_PASSED: &str = "no fixtures ran successfully";

/// Everything that a run of `proctor conformance test` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// How the run was made.
    pub mode: Mode,
    /// Where the corpus came from.
    pub source: Source,
    /// Counts of `results` by status.
    pub summary: Summary,
    /// What the redactor left alone.
    pub redaction: Redaction,
    /// What a reader must know beside the results.
    pub warnings: Vec<String>,
    /// One row a fixture and harness, by fixture name and then requested harness order.
    pub results: Vec<TrialResult>,
}

impl Report {
    /// Counts the results and adds the standing warning when nothing passed.
    pub fn new(
        mode: Mode,
        source: Source,
        redaction_skipped: usize,
        mut warnings: Vec<String>,
        results: Vec<TrialResult>,
    ) -> Self {
        let summary = Summary::of(&results);
        if summary.passed == 0 {
            warnings.push(NOTHING_PASSED.to_owned());
        }
        let redaction = Redaction { skipped: redaction_skipped };
        Self { schema_version: SCHEMA_VERSION, mode, source, summary, redaction, warnings, results }
    }
}

/// How a run was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Against the current repository's clean installation.
    Normal,
    /// Against a corpus checkout that was named.
    Source,
    /// Install-phase checks only; no harness is looked for.
    InstallOnly,
}

/// Where the corpus came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// `path` (`--source`), `environment` (`CRATIS_AI_SOURCE`) or `settings` (`proctor.toml`).
    pub kind: String,
    /// Git commit of the corpus, or the directory's modification time.
    pub revision: String,
}

/// What the redactor left alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redaction {
    /// Values of secret-looking variables that are plain words or paths: redacting them would blank
    /// the report.
    pub skipped: usize,
}

/// Counts of results by status; they add up to the number of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// All required checks held.
    pub passed: u64,
    /// A required check or the agent failed.
    pub failed: u64,
    /// The fixture, a required check or the infrastructure was at fault.
    pub errors: u64,
    /// Not run, for the reason in the result.
    pub skipped: u64,
}

impl Summary {
    /// Counts `results`.
    pub fn of(results: &[TrialResult]) -> Self {
        let mut summary = Self::default();
        for result in results {
            match result.status {
                CheckStatus::Passed => summary.passed += 1,
                CheckStatus::Failed => summary.failed += 1,
                CheckStatus::Error => summary.errors += 1,
                CheckStatus::Skipped => summary.skipped += 1,
            }
        }
        summary
    }
}

/// What one fixture did with one harness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialResult {
    /// Fixture name; the directory's name when the file could not be read.
    pub fixture: String,
    /// Harness id as requested; null when the fixture is invalid.
    pub harness: Option<String>,
    /// The verdict.
    pub status: CheckStatus,
    /// Why, for everything but a pass.
    pub reason: Option<String>,
    /// Whether the result phase was reached.
    pub result_phase: ResultPhase,
    /// What was installed.
    pub selection: Selection,
    /// Installed instruction files with the hash of the installed text.
    pub installed_instructions: Vec<InstalledInstruction>,
    /// One row an expected instruction path.
    pub observed_load: Vec<ObservedLoad>,
    /// Every declared check, in file order, whether it ran or not.
    pub checks: Vec<CheckRow>,
    /// The effective bounds.
    pub bounds: Bounds,
    /// Always `unknown`: Proctor cannot see what the harness remembers of its user.
    pub user_memory_isolation: Unknown,
    /// How the agent session ended; null when none ran.
    pub outcome: Option<Outcome>,
    /// What the agent session used; null when none ran.
    pub usage: Option<Usage>,
    /// Path of the kept transcript.
    pub transcript: Option<String>,
}

/// Whether the result phase was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultPhase {
    /// The result-phase checks ran.
    Completed,
    /// They did not.
    NotRun,
}

/// A selection of guidance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Selection {
    /// Profile ids.
    pub profiles: Vec<String>,
    /// Languages; empty is unconstrained.
    pub languages: Vec<String>,
}

/// An installed instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledInstruction {
    /// Relative to the workspace.
    pub path: String,
    /// Upper-case hexadecimal SHA-256 of the installed text.
    pub sha256: String,
}

/// Whether an expected instruction path was seen to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedLoad {
    /// As the fixture names it.
    pub path: String,
    /// Whether the installation put it there.
    pub installed: bool,
    /// What the transcript proves.
    pub status: LoadStatus,
}

/// What the transcript proves about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadStatus {
    /// An explicit read tool named it, and did not fail.
    Observed,
    /// Nothing proves that it was read, and nothing proves that it was not.
    Unknown,
}

/// The only value of things that cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// Not known.
    Unknown,
}

/// A declared check and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRow {
    /// Position in the fixture, from 0.
    pub index: usize,
    /// Its `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it runs.
    pub phase: Phase,
    /// An optional check never decides.
    pub optional: bool,
    /// Its answer.
    pub status: CheckStatus,
    /// Why.
    pub message: String,
    /// How many files it looked at; null for checks that look at none.
    pub files: Option<u64>,
    /// What a command printed; null for other checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<CommandOutput>,
}

/// What a command check printed, redacted, each stream capped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandOutput {
    /// Exit code; null when it was killed or never ran.
    pub exit_code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Whether either stream was longer than what is kept.
    pub truncated: bool,
}

/// The effective bounds of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// Wall clock of the whole trial, in seconds.
    pub timeout_seconds: Bound<u64>,
    /// US dollars.
    pub max_budget_usd: Bound<f64>,
    /// Model turns.
    pub max_turns: Bound<u32>,
}
