//! What `proctor eval calibrate-estimate` proposes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Assumptions that recorded runs speak for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// One entry a harness, model and kind of run, by kind, harness and model.
    pub groups: Vec<CalibrationGroup>,
    /// Records that could not be used.
    pub skipped: SkippedRecords,
}

impl Calibration {
    /// The group with the most records, whose settings are worth copying; the first of equal ones.
    pub fn largest(&self) -> Option<&CalibrationGroup> {
        // Of equal ones the last counts, which is the first when they come backwards.
        self.groups.iter().rev().max_by_key(|group| group.samples)
    }
}

/// What the runs of one kind on one harness and model come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationGroup {
    /// The harness.
    pub harness: String,
    /// The model.
    pub model: String,
    /// What was run.
    pub kind: RunKind,
    /// How many records there are.
    pub samples: u64,
    /// Whether these are fewer than were asked for.
    pub low_confidence: bool,
    /// What the estimates assumed: the median.
    pub current: Assumptions,
    /// What the runs speak for.
    pub proposed: Assumptions,
    /// The median of actual over expected tokens, less 1.
    pub token_error_before: f64,
    /// The same, had the proposed values been assumed.
    pub token_error_after: f64,
    /// The median of how far cost lay off, either way.
    pub cost_error_median: f64,
    /// How far it lay off in nine of ten runs.
    pub cost_error_p90: f64,
    /// The listed price of a million tokens in, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price_in_per_mtok: Option<f64>,
    /// The price of a million tokens in that the costs imply when tokens out have their listed
    /// price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_price_in_per_mtok: Option<f64>,
}

/// What was run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Which skill loads for a prompt.
    Activation,
    /// Whole cases.
    Cases,
}

impl RunKind {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Activation => "activation",
            Self::Cases => "cases",
        }
    }
}

/// Assumptions of an estimate, under the names that the settings have for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assumptions {
    /// Tokens in that the harness itself sends.
    pub overhead_tokens: u64,
    /// Tokens out of a case run; of groups of case runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed_output_tokens: Option<u64>,
    /// Tokens out of an activation run; of groups of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_output_tokens: Option<u64>,
    /// What a million tokens in are really billed at, in US dollars, when that is far from the
    /// list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_in_per_mtok: Option<f64>,
}

/// How many records could not be used, by the first reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedRecords {
    /// The runner reported no tokens.
    #[serde(default)]
    pub no_usage: u64,
    /// The user's key did not sign them.
    #[serde(default)]
    pub unverified: u64,
    /// They are of another harness or model than asked for.
    #[serde(default)]
    pub filtered: u64,
}
