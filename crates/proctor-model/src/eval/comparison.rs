//! The report of `proctor eval run --mode activation --description-from A --against B`: two
//! descriptions of one skill, measured on the same prompts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activation::{ActivationCost, RateInterval, Scope, SkillActivation, Surface};
use super::estimate::Estimate;
use super::is_default;

/// The version of the report's shape.
pub const COMPARISON_SCHEMA_VERSION: u32 = 1;

/// What comparing two descriptions came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonReport {
    /// [`COMPARISON_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What was measured.
    pub mode: ComparisonMode,
    /// What chose the skills.
    pub surface: Surface,
    /// Which skills competed.
    pub scope: Scope,
    /// What the surface measures and what it does not.
    pub note: String,
    /// The day that the user named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The runner; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// The harness; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// The model, `default` when none was named; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Repetitions of each prompt, at most; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// Whether nothing was run; `native` only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dry_run: bool,
    /// The estimate of both measurements; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Money.
    pub cost: ActivationCost,
    /// The skill.
    pub skill: String,
    /// The description in question.
    pub new: Candidate,
    /// The description that it is compared with.
    pub against: Candidate,
    /// What the two say of each other.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// What a reader should know beside the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether the new description is worse, or nothing could be measured.
    pub failed: bool,
}

/// The one value of [`ComparisonReport::mode`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonMode {
    /// Which of two descriptions is chosen better.
    #[default]
    ActivationComparison,
}

/// One of the two descriptions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The file that it was read from, as it was named.
    pub file: String,
    /// What the skill came to with it.
    pub measured: SkillActivation,
}

/// Two measurements on the same prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What the difference is worth.
    pub verdict: ComparisonVerdict,
    /// Prompts that pass with the new description alone.
    pub wins: u64,
    /// Prompts that pass with the other description alone.
    pub losses: u64,
    /// Prompts that pass or fail with both.
    pub ties: u64,
    /// How likely a split of wins and losses at least as uneven is when the descriptions are equally
    /// good: the exact test of `McNemar`, two-sided. Null without wins and losses.
    pub p_value: Option<f64>,
    /// From which number of wins and losses together a verdict is possible, given how many are on the
    /// smaller side now.
    pub needed: u64,
    /// The share of the prompts that should fire the skill and do; null without such prompts.
    pub recall: Option<PairedDifference>,
    /// The share of the prompts that should not fire it and do; null without such prompts.
    pub false_activation: Option<PairedDifference>,
    /// The prompts, in the order in which they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<ComparedPrompt>,
}

/// What a comparison shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonVerdict {
    /// The new description wins, by more than chance explains.
    Better,
    /// It loses, by more than chance explains.
    Worse,
    /// What difference there is, chance explains.
    NoDifferenceShown,
    /// There are no two measurements.
    #[default]
    NotMeasured,
}

impl ComparisonVerdict {
    /// The words in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceShown => "no difference shown",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A share with the new description less that with the other, over the same prompts. Figures are
/// rounded to four decimals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedDifference {
    /// With the new description, 0 to 1.
    pub new: f64,
    /// With the other, 0 to 1.
    pub against: f64,
    /// The first less the second, -1 to 1.
    pub difference: f64,
    /// The interval of 95 % of the difference, by Newcombe's score method for paired data.
    pub interval: RateInterval,
    /// How many prompts.
    pub n: u64,
}

/// One prompt with both descriptions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedPrompt {
    /// The case.
    pub case: String,
    /// Whether the skill should fire.
    pub expect: bool,
    /// Share of the runs in which it fired with the new description.
    pub new_rate: f64,
    /// The same with the other.
    pub against_rate: f64,
    /// What that is for the new description.
    pub outcome: PairedOutcome,
}

/// What a prompt says about two descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairedOutcome {
    /// It passes with the new one alone.
    Win,
    /// It passes with the other alone.
    Loss,
    /// It passes with both, or fails with both.
    Tie,
}
