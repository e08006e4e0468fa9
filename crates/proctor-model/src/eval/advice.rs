//! What `proctor eval report` recommends for each skill.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// Recommendations for the skills of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviceReport {
    /// The pass rate below which a skill should be rewritten.
    pub min_pass_rate: f64,
    /// The same for precision and recall of its firing.
    pub min_trigger: f64,
    /// Uses in the log of usage; null without one.
    pub logged_uses: Option<u64>,
    /// The skills, the most pressing first.
    pub skills: Vec<AdviceRow>,
}

/// A skill, and what to do with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviceRow {
    /// The skill.
    pub id: String,
    /// What to do.
    pub action: Action,
    /// Why.
    pub reasons: Vec<String>,
    /// How often it was used; null without a log of usage.
    pub uses: Option<u64>,
    /// Passed of scored cases.
    pub pass_rate: Option<f64>,
    /// How many of the prompts that fired it were meant to.
    pub trigger_precision: Option<f64>,
    /// How many of the prompts that were meant to fire it did.
    pub trigger_recall: Option<f64>,
    /// What it adds to the rate of passed outcomes.
    pub ablation_delta: Option<f64>,
    /// How many cases that figure is over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ablation_cases: u64,
    /// Tokens of its `SKILL.md`.
    pub skill_tokens: u64,
    /// What users said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<FeedbackCounts>,
    /// Whether it changed after its last passing run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stale: bool,
    /// Whether there is a record that is not believed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unverified: bool,
    /// How far the uses are those of the skill that was evaluated; absent without a log of usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Join>,
    /// The uses by that class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub join_uses: BTreeMap<Join, u64>,
    /// What a reader should know beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What to do with a skill; the most pressing first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It does not do its job.
    Rewrite,
    /// Nobody uses it, and nothing shows that it helps.
    Prune,
    /// A person has to look.
    Review,
    /// It is fine.
    Keep,
}

impl Action {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rewrite => "rewrite",
            Self::Prune => "prune",
            Self::Review => "review",
            Self::Keep => "keep",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How far uses are those of the skill that was evaluated.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// There are no uses, or there is no record.
    None,
    /// By id alone: record or log is of a version without digests.
    Legacy,
    /// The skill was the one that was evaluated.
    Exact,
    /// The skill was another version.
    Stale,
}

impl Join {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Legacy => "legacy",
            Self::Exact => "exact",
            Self::Stale => "stale",
        }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What users said of a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FeedbackCounts {
    /// It led the agent the wrong way.
    pub misled: u64,
    /// It is out of date.
    pub stale: u64,
    /// It says something untrue.
    pub wrong: u64,
    /// It helped.
    pub great: u64,
}

impl FeedbackCounts {
    /// Everything that is no praise.
    pub fn complaints(&self) -> u64 {
        self.misled.saturating_add(self.stale).saturating_add(self.wrong)
    }
}
