//! What a trial came to: `run.json`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CheckStatus, Isolation, Outcome, Usage};

/// The version of [`TrialRecord`].
pub const TRIAL_VERSION: u32 = 1;

/// What a trial came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// [`TRIAL_VERSION`].
    pub schema_version: u32,
    /// `<variant id>::<16 hexadecimal digits>`.
    pub run_id: String,
    /// The run that it belongs to.
    pub run_group_id: String,
    /// The experiment; for other kinds of runs the name of what was run.
    pub scenario_id: String,
    /// The variant.
    pub variant_id: String,
    /// The fingerprint of the variant.
    pub fingerprint: String,
    /// Which repetition, from 0.
    pub repeat_idx: u32,
    /// What it consists of.
    pub coordinates: Coordinates,
    /// The verdict.
    pub status: TrialStatus,
    /// How the agent ended, or why there is none.
    pub exit_reason: ExitReason,
    /// What a reader must know about that: which check failed, what the provider said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
    /// When it ended.
    pub ended_at: u64,
    /// How long each phase took, in order.
    pub phases: Vec<PhaseRecord>,
    /// How the agent's session ended; absent when none began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What the agent used; absent when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Calls of tools, as far as the agent shows them.
    pub tool_calls: u64,
    /// Those of them that failed or were refused.
    pub tool_calls_failed: u64,
    /// What stood between the trial and the machine; absent when no sandbox was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The setup checks that ran, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<ScriptRecord>,
    /// Every test, in the order of the file.
    pub tests: Vec<TestRecord>,
    /// What else was graded, in the order in which it was declared: conformance checks, assertions
    /// of skill evals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graded: Vec<GradedCheck>,
    /// What a reader should know beside the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What a variant consists of; a coordinate that it lacks is null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coordinates {
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: Option<String>,
    /// The model's effort.
    pub effort: Option<String>,
    /// The prompt's id.
    pub prompt_id: String,
    /// The environment's name.
    pub environment: Option<String>,
    /// The product's name.
    pub product: Option<String>,
    /// The extension's id; for nested ones the path.
    pub extension_id: Option<String>,
}

/// The verdict on a trial.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TrialStatus {
    /// The agent's turn ended and every test passed.
    Pass,
    /// The agent's turn ended and a test failed.
    Fail,
    /// The agent could not work to its end, or not at all: says nothing about it.
    Error,
}

impl TrialStatus {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for TrialStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How the agent's part of a trial ended. The first five are the words of the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitReason {
    /// It finished.
    EndTurn,
    /// Its answer was cut at the output limit.
    MaxTokens,
    /// It reached its limit of turns.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// Somebody interrupted it.
    Cancelled,
    /// It reached its limit of money.
    MaxCost,
    /// It cannot drive that model.
    ModelUnsupportedByHarness,
    /// It failed, or the provider did.
    DriverError,
    /// A file could not be delivered.
    StagingFailed,
    /// A setup script failed.
    SetupFailed,
    /// A setup check failed.
    SetupCheckFailed,
    /// It passed `max_time_seconds`.
    Timeout,
    /// It passed a limit of its sandbox.
    LimitExceeded,
    /// It never began: no sandbox could be made, or its program is not there.
    NeverStarted,
    /// There was no agent: only setups and checks were asked for, or tests alone.
    NotRun,
}

impl ExitReason {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::MaxCost => "max_cost",
            Self::ModelUnsupportedByHarness => "model_unsupported_by_harness",
            Self::DriverError => "driver_error",
            Self::StagingFailed => "staging_failed",
            Self::SetupFailed => "setup_failed",
            Self::SetupCheckFailed => "setup_check_failed",
            Self::Timeout => "timeout",
            Self::LimitExceeded => "limit_exceeded",
            Self::NeverStarted => "never_started",
            Self::NotRun => "not_run",
        }
    }

    /// Whether the agent's turn ended by itself, so that the tests decide.
    pub fn is_end_of_turn(self) -> bool {
        match self {
            Self::EndTurn
            | Self::MaxTokens
            | Self::MaxTurnRequests
            | Self::Refusal
            | Self::MaxCost
            | Self::NotRun => true,
            Self::Cancelled
            | Self::ModelUnsupportedByHarness
            | Self::DriverError
            | Self::StagingFailed
            | Self::SetupFailed
            | Self::SetupCheckFailed
            | Self::Timeout
            | Self::LimitExceeded
            | Self::NeverStarted => false,
        }
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The phases of a trial, in order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// The sandbox is made.
    Sandbox,
    /// Files are put into the workspace.
    Stage,
    /// Setup scripts run.
    Setup,
    /// Setup checks run.
    Checks,
    /// The agent works.
    Agent,
    /// Tests that look at what is still running.
    LiveTests,
    /// The workspace is frozen.
    Snapshot,
    /// Tests run in a fork of it.
    Tests,
    /// Records are written.
    Collect,
}

impl PhaseName {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Stage => "stage",
            Self::Setup => "setup",
            Self::Checks => "checks",
            Self::Agent => "agent",
            Self::LiveTests => "live_tests",
            Self::Snapshot => "snapshot",
            Self::Tests => "tests",
            Self::Collect => "collect",
        }
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How long a phase took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// Which.
    pub phase: PhaseName,
    /// In milliseconds.
    pub duration_ms: u64,
}

/// What a setup check came to: exactly the fields of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptRecord {
    /// Its name.
    pub name: String,
    /// Its exit code; 128 and the number of the signal that ended it; -1 when its time was up.
    pub exit_code: i32,
    /// In milliseconds.
    pub duration_ms: u64,
    /// The end of its standard output, at most 64 KiB.
    pub stdout_tail: String,
    /// The same of its standard error.
    pub stderr_tail: String,
}

/// What a test came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestRecord {
    /// Its name.
    pub name: String,
    /// The verdict.
    pub status: TestStatus,
    /// Its exit code, as of a script; absent when it did not run.
    pub exit_code: Option<i32>,
    /// In milliseconds.
    pub duration_ms: u64,
    /// Why it did not pass, where more than the exit code is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether its time was up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed_out: bool,
    /// Whether it was given fewer rows of evidence than there were.
    #[serde(default, skip_serializing_if = "is_false")]
    pub evidence_truncated: bool,
    /// What questions about evidence failed, and why: these say nothing about the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_errors: Vec<String>,
    /// The end of its standard output, at most 64 KiB.
    pub stdout_tail: String,
    /// The same of its standard error.
    pub stderr_tail: String,
}

/// What a check that is no script came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GradedCheck {
    /// What it is called; unique in its trial.
    pub name: String,
    /// Its type, as the file that declares it has it.
    pub kind: String,
    /// The answer.
    pub status: GradedStatus,
    /// Whether the verdict goes without it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// Why it did not pass, or what else its answer rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The piece of evidence that it looked at: a line of a file, words of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// The answer of a check that is no script.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GradedStatus {
    /// It looked at the evidence, and that holds.
    Passed,
    /// It looked at the evidence, and that does not hold.
    Failed,
    /// It could not be carried out.
    Error,
    /// It was not carried out.
    Skipped,
    /// Nobody can tell from the evidence.
    Unknown,
}

impl GradedStatus {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for GradedStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<CheckStatus> for GradedStatus {
    fn from(status: CheckStatus) -> Self {
        match status {
            CheckStatus::Passed => Self::Passed,
            CheckStatus::Failed => Self::Failed,
            CheckStatus::Error => Self::Error,
            CheckStatus::Skipped => Self::Skipped,
        }
    }
}

/// The verdict of a test.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    /// It exited with 0.
    Passed,
    /// It exited with another code.
    Failed,
    /// It failed, and a question of its about evidence had no answer: the test or the evidence is at
    /// fault, not the agent.
    EvidenceError,
    /// It could not be run.
    Error,
    /// It was not reached.
    Skipped,
}

impl TestStatus {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::EvidenceError => "evidence_error",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for TestStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde wants")]
fn is_false(value: &bool) -> bool {
    !value
}
