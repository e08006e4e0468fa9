//! What a run came to, for readers: made of its plan and its records alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::RunKind;
use super::trial::TrialRecord;

/// The version of [`RunReport`].
pub const RUN_REPORT_VERSION: u32 = 1;

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// [`RUN_REPORT_VERSION`].
    pub schema_version: u32,
    /// The run.
    pub run_id: String,
    /// Which way of testing made it; absent for an experiment.
    #[serde(default, skip_serializing_if = "RunKind::is_experiment")]
    pub kind: RunKind,
    /// The experiment; for other kinds the name of what was run.
    pub experiment_id: String,
    /// The run whose trials were tested again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retest_of: Option<String>,
    /// The run whose trials without a result were run once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<String>,
    /// Trials that were planned.
    pub planned: u64,
    /// Trials that are finished.
    pub finished: u64,
    /// Over all variants.
    pub total: Tally,
    /// Variant by variant, in the order of the plan.
    pub variants: Vec<VariantTally>,
    /// The finished trials, in the order of the plan.
    pub trials: Vec<TrialRecord>,
    /// Planned trials that are not finished, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<UnfinishedTrial>,
}

/// A trial that was planned and is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnfinishedTrial {
    /// `<variant id>::<16 hexadecimal digits>`.
    pub run_id: String,
    /// The variant.
    pub variant_id: String,
    /// Which repetition, from 0.
    pub repeat_idx: u32,
    /// Why it was not started; null when it was not that which kept it from being finished.
    pub not_started: Option<String>,
}

/// How finished trials ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Trials in which everything passed.
    pub passed: u64,
    /// Trials in which a test or a check failed.
    pub failed: u64,
    /// Trials that say nothing about the agent.
    pub errors: u64,
    /// Passed of those that passed or failed; null when none did.
    pub pass_rate: Option<f64>,
    /// The lower end of the Wilson interval of 95 %.
    pub pass_rate_low: Option<f64>,
    /// Its upper end.
    pub pass_rate_high: Option<f64>,
    /// US dollars, as far as agents say what they cost; null when none does.
    pub cost_usd: Option<f64>,
}

/// The same of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantTally {
    /// The variant.
    pub variant_id: String,
    /// Trials that were planned.
    pub planned: u64,
    /// How they ended.
    #[serde(flatten)]
    pub tally: Tally,
}
