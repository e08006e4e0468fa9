//! The report of `proctor eval run --mode activation --format json`: schema version 1.
//!
//! A report of the surface `retrieval` has the shape that ai-rulez published; the fields and
//! statuses that only the surface `native` needs are an extension of it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, EstimateRecord};
use super::is_default;
use super::record::StolenBy;
use super::report::Problem;

/// The version of the report's shape.
pub const ACTIVATION_SCHEMA_VERSION: u32 = 1;

/// The winner of a prompt for which no skill was chosen.
pub const NO_WINNER: &str = "none";

/// Everything that a measurement of activation came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActivationReport {
    /// [`ACTIVATION_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What was measured.
    pub mode: ActivationMode,
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
    /// The estimate of everything that was not replayed; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Money.
    pub cost: ActivationCost,
    /// The skills, by id.
    pub skills: Vec<SkillActivation>,
    /// `confusion[expected][won]`: over the prompts that should fire `expected`, how often `won` did;
    /// [`NO_WINNER`] when no skill did. Counts prompts for `retrieval` and runs for `native`.
    pub confusion: BTreeMap<String, BTreeMap<String, u64>>,
    /// Whether a skill failed.
    pub failed: bool,
}

/// The one value of [`ActivationReport::mode`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActivationMode {
    /// Which skill is chosen.
    #[default]
    Activation,
}

/// What chooses the skill for a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Surface {
    /// The built-in ranker, over what the front matters say.
    Retrieval,
    /// A real agent program with every competing skill installed.
    Native,
}

impl Surface {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retrieval => "retrieval",
            Self::Native => "native",
        }
    }
}

/// Which skills compete with the one under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Those of its domain and those of no domain.
    Domain,
    /// Every skill.
    All,
}

impl Scope {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::All => "all",
        }
    }
}

/// US dollars of a measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActivationCost {
    /// What was expected.
    pub estimate_usd: f64,
    /// What was spent.
    pub actual_usd: f64,
    /// Of that, what it took to prove that loads are seen; `native` only, and where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_usd: Option<f64>,
}

/// What one skill came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillActivation {
    /// The skill.
    pub id: String,
    /// What was done with it.
    pub status: ActivationStatus,
    /// The skills that competed, itself included, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub competing: Vec<String>,
    /// The digest of the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The digest of the skills that competed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_digest: Option<String>,
    /// Whether enough of its prompts passed.
    pub passing: bool,
    /// How many of its prompts that fired it should.
    pub precision: Option<Rate>,
    /// How many of the prompts that should fire it did.
    pub recall: Option<Rate>,
    /// How many of the prompts that should not fire it did.
    pub false_activation: Option<Rate>,
    /// Over all runs of the prompts that should fire it: in how many it fired; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_recall: Option<Rate>,
    /// The same for the prompts that should not; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_false_activation: Option<Rate>,
    /// Share of the prompts that should fire it for which it ranked first; null without such prompts
    /// and for `native`.
    pub recall_at_1: Option<f64>,
    /// The same among the first three.
    pub recall_at_3: Option<f64>,
    /// Mean of one over its rank, 0 where it did not rank.
    pub mrr: Option<f64>,
    /// Cases whose files, assertions or rubric took no part.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignored: u64,
    /// The prompts, in the order in which they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<PromptActivation>,
    /// The skills that won prompts of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stolen_by: Vec<StolenBy>,
    /// What a reader should know beside the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What is wrong with its case files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Why it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// US dollars; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What it was expected to cost beside what it cost; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_vs_actual: Option<EstimateRecord>,
    /// Runs that were not needed, since no verdict could change any more; `native` only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub saved_runs: u64,
}

impl SkillActivation {
    /// A skill of which nothing is known but its status.
    pub fn new(id: impl Into<String>, status: ActivationStatus) -> Self {
        Self {
            id: id.into(),
            status,
            competing: Vec::new(),
            digest: None,
            set_digest: None,
            passing: false,
            precision: None,
            recall: None,
            false_activation: None,
            run_recall: None,
            run_false_activation: None,
            recall_at_1: None,
            recall_at_3: None,
            mrr: None,
            ignored: 0,
            prompts: Vec::new(),
            stolen_by: Vec::new(),
            warnings: Vec::new(),
            problems: Vec::new(),
            error: None,
            cost_usd: None,
            estimate_vs_actual: None,
            saved_runs: 0,
        }
    }

    /// Whether it makes the measurement fail.
    pub fn failed(&self) -> bool {
        match self.status {
            ActivationStatus::Invalid
            | ActivationStatus::Error
            | ActivationStatus::SkippedOverBudget => true,
            ActivationStatus::Ran | ActivationStatus::Cached => !self.passing,
            ActivationStatus::NoCases
            | ActivationStatus::SkippedUnchanged
            | ActivationStatus::DryRun => false,
        }
    }
}

/// What was done with a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActivationStatus {
    /// It was measured.
    Ran,
    /// It has no case files.
    NoCases,
    /// Its case files have mistakes, and nothing was measured.
    Invalid,
    /// It could not be measured.
    Error,
    /// Nothing of it changed.
    SkippedUnchanged,
    /// A stored measurement holds; `native` only.
    Cached,
    /// It would have been measured; `native` only.
    DryRun,
    /// The budget was spent before its turn; `native` only.
    SkippedOverBudget,
}

impl ActivationStatus {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::NoCases => "no-cases",
            Self::Invalid => "invalid",
            Self::Error => "error",
            Self::SkippedUnchanged => "skipped-unchanged",
            Self::Cached => "cached",
            Self::DryRun => "dry-run",
            Self::SkippedOverBudget => "skipped-over-budget",
        }
    }
}

impl fmt::Display for ActivationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A proportion. Figures are rounded to four decimals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// 0 to 1.
    pub value: f64,
    /// What it is a share of; above 0.
    pub n: u64,
    /// The Wilson interval of 95 %.
    pub interval: RateInterval,
}

/// The ends of an interval: of a share 0 to 1, of a difference of shares -1 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What one prompt came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptActivation {
    /// The case.
    pub case: String,
    /// Whether the skill should fire.
    pub expect: bool,
    /// Whether it comes from a near-miss prompt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub near_miss: bool,
    /// Share of the runs in which the skill fired; 0 without a usable run.
    pub rate: f64,
    /// Usable runs; 1 for `retrieval`.
    pub runs: u64,
    /// Runs without a result; `native` only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub errored_runs: u64,
    /// Place of the skill among the competing skills, from 1; null when it did not rank, and for
    /// `native`.
    pub rank: Option<u64>,
    /// The skill that was chosen (`native`: most often), or [`NO_WINNER`].
    pub winner: String,
    /// The score of the first hit; 0 without one, and for `native`.
    pub top_score: f64,
    /// What it came to.
    pub status: PromptStatus,
    /// The Wilson interval of `rate`; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<RateInterval>,
    /// In how many runs each skill fired, and in how many none did; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired_counts: Option<BTreeMap<String, u64>>,
    /// Why there is no result; `native` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a prompt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptStatus {
    /// The skill fired as it should.
    Passed,
    /// It did not.
    Failed,
    /// It did, and one run the other way would have turned that; counts as passed.
    Borderline,
    /// There is no result; the skill is then not scored. `native` only.
    Error,
}

impl PromptStatus {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Borderline => "borderline",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for PromptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
