//! What `proctor eval list` says of the skills of a project.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the listing's shape.
pub const LISTING_SCHEMA_VERSION: u32 = 1;

/// The skills of a project, by id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// [`LISTING_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The skills.
    pub skills: Vec<ListedSkill>,
}

/// A skill, its cases and its recorded result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedSkill {
    /// The skill.
    pub id: String,
    /// Its domain; absent for a root skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Its folder, relative to the project root where it lies below it.
    pub path: String,
    /// Authored cases.
    pub cases: u64,
    /// Cases from near-miss prompts.
    pub near_misses: u64,
    /// Mistakes in its case files; with one, none of its cases runs.
    pub problems: u64,
    /// The words that its cases can be selected by, sorted.
    pub tags: Vec<String>,
    /// The recorded result; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ListedResult>,
}

/// A recorded result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedResult {
    /// What it is worth.
    pub state: ResultState,
    /// The recorded pass rate.
    pub pass_rate: f64,
}

/// What a recorded result is worth today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultState {
    /// It reaches the mark, and the files are those of the run.
    Passing,
    /// It does not reach the mark, and the files are those of the run.
    Failing,
    /// The skill or its cases changed since.
    Stale,
    /// The user's key did not sign it: it proves nothing.
    Unverified,
}

impl ResultState {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passing => "passing",
            Self::Failing => "failing",
            Self::Stale => "stale",
            Self::Unverified => "unverified",
        }
    }
}

impl fmt::Display for ResultState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
