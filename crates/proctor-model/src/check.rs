//! What a check says about the evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The four answers of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The check looked at the evidence and it holds.
    Passed,
    /// The check looked at the evidence and it does not hold.
    Failed,
    /// The check could not be carried out: a fault of the check or its surroundings, never a pass.
    Error,
    /// The check was not carried out, for the reason in its message.
    Skipped,
}

impl CheckStatus {
    /// The word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

/// The answer of one check with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// The answer.
    pub status: CheckStatus,
    /// Why; empty for a plain pass.
    pub message: String,
    /// How many files the check looked at; `None` for checks that look at no files.
    pub files: Option<u64>,
}

impl CheckResult {
    /// A pass over `files` files.
    pub fn passed(files: Option<u64>) -> Self {
        Self { status: CheckStatus::Passed, message: String::new(), files }
    }

    /// A result with a reason.
    pub fn because(status: CheckStatus, message: impl Into<String>, files: Option<u64>) -> Self {
        Self { status, message: message.into(), files }
    }
}
