//! What a run is expected to cost, and what it cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// What a run is expected to cost, as a range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Estimate {
    /// How many times an agent is started.
    pub agent_runs: u64,
    /// Tokens in, expected.
    pub input_tokens: u64,
    /// Tokens out, expected.
    pub output_tokens: u64,
    /// US dollars, expected.
    pub cost_usd: f64,
    /// Tokens in, at least.
    pub input_tokens_low: u64,
    /// Tokens in, at most.
    pub input_tokens_high: u64,
    /// Tokens out, at least.
    pub output_tokens_low: u64,
    /// Tokens out, at most.
    pub output_tokens_high: u64,
    /// US dollars, at least.
    pub cost_low_usd: f64,
    /// US dollars, at most.
    pub cost_high_usd: f64,
}

/// The estimate of a run beside what the runner reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EstimateRecord {
    /// US dollars, at least.
    pub low_usd: f64,
    /// US dollars, expected.
    pub expected_usd: f64,
    /// US dollars, at most.
    pub high_usd: f64,
    /// Tokens in and out, expected.
    pub expected_tokens: u64,
    /// How many times an agent was started.
    #[serde(skip_serializing_if = "is_default")]
    pub agent_runs: u64,
    /// Tokens in, expected.
    #[serde(skip_serializing_if = "is_default")]
    pub expected_input_tokens: u64,
    /// Tokens out, expected.
    #[serde(skip_serializing_if = "is_default")]
    pub expected_output_tokens: u64,
    /// Tokens in, as reported; 0 when none were.
    #[serde(skip_serializing_if = "is_default")]
    pub actual_input_tokens: u64,
    /// Tokens out, as reported; 0 when none were.
    #[serde(skip_serializing_if = "is_default")]
    pub actual_output_tokens: u64,
    /// What the estimate assumed; absent on older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<EstimateParams>,
    /// US dollars, as reported; 0 when no cost was.
    #[serde(skip_serializing_if = "is_default")]
    pub actual_usd: f64,
    /// Tokens in and out, as reported; 0 when none were.
    #[serde(skip_serializing_if = "is_default")]
    pub actual_tokens: u64,
    /// Actual over expected US dollars, less 1; absent when no cost was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Whether the cost lay between low and high; absent when no cost was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_range: Option<bool>,
}

/// What an estimate assumes of one run of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EstimateParams {
    /// Tokens in that the harness itself sends.
    pub overhead_tokens: f64,
    /// Tokens out of a case run.
    pub assumed_output_tokens: f64,
    /// How many more times everything beyond the overhead is read, in the high figure.
    pub tool_loop_factor: f64,
    /// Tokens out of an activation run.
    pub activation_output_tokens: f64,
}

/// The assumptions that hold when nobody says otherwise.
impl Default for EstimateParams {
    fn default() -> Self {
        Self {
            overhead_tokens: 2000.0,
            assumed_output_tokens: 600.0,
            tool_loop_factor: 1.0,
            activation_output_tokens: 150.0,
        }
    }
}
