//! What `proctor run verify` found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::RunKind;

/// The version of [`VerifyReport`].
pub const VERIFY_REPORT_VERSION: u32 = 1;

/// What was found about runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// [`VERIFY_REPORT_VERSION`].
    pub schema_version: u32,
    /// The runs, the latest first.
    pub runs: Vec<VerifiedRun>,
}

/// What was found about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedRun {
    /// The run.
    pub run_id: String,
    /// Which way of testing made it; null when the run cannot be read.
    pub kind: Option<RunKind>,
    /// Trials that were looked at: those that are finished.
    pub verified: u64,
    /// Trials that are not finished, which is no damage.
    pub unfinished: Vec<String>,
    /// What is not as it was, or does not follow from the evidence.
    pub problems: Vec<Problem>,
    /// What a reader should know beside that.
    pub notes: Vec<String>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The trial; null for the run itself.
    pub trial: Option<String>,
    /// The file, relative to the folder of the trial, or of the run.
    pub file: String,
    /// Which part of it, where not all of it is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong.
    pub problem: ProblemKind,
    /// What is kept: a digest, a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// What was found instead, or why it could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The file is gone.
    Missing,
    /// Its content is another than when the trial was finished.
    Changed,
    /// It was not there when the trial was finished.
    Added,
    /// It cannot be read.
    Unreadable,
    /// A line of the journal does not follow the one before it.
    BrokenChain,
    /// What it says does not follow from the evidence.
    Differs,
}

impl ProblemKind {
    /// The words for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::Changed => "was changed",
            Self::Added => "was added",
            Self::Unreadable => "cannot be read",
            Self::BrokenChain => "does not follow the line before it",
            Self::Differs => "does not follow from the evidence",
        }
    }
}

impl Problem {
    /// Something about a whole file.
    pub fn of_file(file: impl Into<String>, problem: ProblemKind) -> Self {
        Self { trial: None, file: file.into(), field: None, problem, kept: None, found: None }
    }

    /// A part of a file that does not follow from the evidence.
    pub fn differs(
        file: &str,
        field: impl Into<String>,
        kept: &impl ToString,
        found: &impl ToString,
    ) -> Self {
        Self {
            field: Some(field.into()),
            kept: Some(kept.to_string()),
            found: Some(found.to_string()),
            ..Self::of_file(file, ProblemKind::Differs)
        }
    }
}
