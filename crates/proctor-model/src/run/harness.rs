//! What Proctor did with a trial, as it did it: `harness-events.jsonl`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trial::{ExitReason, PhaseName, TrialStatus};
use crate::OutcomeClass;

/// One line of `harness-events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HarnessEvent {
    /// Its place in the file, from 0.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: HarnessEventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HarnessEventKind {
    /// An attempt begins: always the first line.
    TrialBegin {
        /// The trial.
        trial: String,
        /// Which attempt in this invocation, from 1.
        attempt: u32,
        /// Why the attempt before it got no sandbox.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A phase begins.
    PhaseBegin {
        /// Which.
        phase: PhaseName,
    },
    /// It ends.
    PhaseEnd {
        /// Which.
        phase: PhaseName,
        /// In milliseconds, by a clock that nobody sets.
        duration_ms: u64,
    },
    /// A setup, a check or a test has ended.
    Script {
        /// Which of the three.
        role: ScriptRole,
        /// Its name, or its number where it has none.
        name: String,
        /// As in its record; absent when it did not run.
        exit_code: Option<i32>,
        /// In milliseconds.
        duration_ms: u64,
        /// Whether it was killed since its time was up.
        killed: bool,
    },
    /// The agent's program is about to be started.
    AgentBegin {
        /// The adapter that drives it.
        adapter: String,
        /// Seconds that it has.
        limit_seconds: u32,
        /// US dollars that are set aside for it, under a cap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        set_aside_usd: Option<f64>,
    },
    /// The agent asked for leave, or a rule decided for it.
    Permission {
        /// What it was answered.
        answer: PermissionAnswer,
    },
    /// The agent's program tries a request to its provider again.
    ProviderRetry {
        /// What it says of it.
        message: String,
    },
    /// The agent's program has ended.
    AgentEnd {
        /// How, in the words of the record.
        exit_reason: ExitReason,
        /// How, in the words of all harnesses.
        outcome: OutcomeClass,
        /// Whether Proctor ended it.
        killed: bool,
    },
    /// The trial passed a limit of its sandbox, and was ended for it.
    Violation {
        /// Which.
        message: String,
    },
    /// The trial is over: the last line, of a trial that was not killed itself.
    TrialEnd {
        /// The verdict.
        status: TrialStatus,
        /// How the agent ended, or why there is none.
        exit_reason: ExitReason,
        /// More about that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// What a script is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptRole {
    /// It furnishes the workspace.
    Setup,
    /// It looks whether that worked.
    Check,
    /// It grades.
    Test,
}

/// What an agent was answered that asked for leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// Yes.
    Allowed,
    /// It offered no yes.
    Cancelled,
    /// A rule of its own program said no.
    Denied,
}
