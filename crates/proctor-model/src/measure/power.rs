//! What a number of trials can show: `proctor power`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`PowerReport`].
pub const POWER_VERSION: u32 = 1;

/// What a plan can show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerReport {
    /// [`POWER_VERSION`].
    pub schema_version: u32,
    /// Trials a side: prompts times repetitions.
    pub n: u64,
    /// Prompts, where they are known.
    pub prompts: Option<u64>,
    /// Repetitions, where they are known.
    pub repeats: Option<u64>,
    /// How many sides are held against the first.
    pub comparisons: u64,
    /// The pass rate that the first side is taken to have.
    pub rate: f64,
    /// The level of a single comparison: that of all, divided by their number.
    pub level: f64,
    /// How likely an effect is to be shown.
    pub power: f64,
    /// How many pairs must come out differently, all the same way, before any verdict.
    pub least_flips: u64,
    /// Whether so many trials can come to a verdict at all.
    pub can_decide: bool,
    /// The same tasks on both sides: the exact test of `McNemar`.
    pub paired: PowerDesign,
    /// Different tasks on the sides: the test of two proportions.
    pub unpaired: PowerDesign,
    /// The effect that was asked about, as a share; null without one.
    pub effect: Option<f64>,
    /// The gate on a rate, if one was asked about.
    pub gate: Option<GatePower>,
    /// The margin of a comparison, if one was asked about.
    pub margin: Option<MarginPower>,
}

/// What a way of comparing can show with `n` trials a side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerDesign {
    /// The smallest rise of the rate that is shown; null when none is.
    pub detectable_rise: Option<f64>,
    /// The smallest fall.
    pub detectable_fall: Option<f64>,
    /// Trials a side that show the effect which was asked about; null without one, or above a million.
    pub needed: Option<u64>,
}

/// Whether a gate on a rate can be passed: the lower end of the Wilson interval of 95 % must reach it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GatePower {
    /// The rate that is asked for.
    pub rate: f64,
    /// Whether `n` trials can pass it.
    pub can_pass: bool,
    /// How many of the `n` trials must pass; null when not even all are enough.
    pub passes_needed: Option<u64>,
    /// The least number of trials that can pass it, with all of them passed.
    pub least_n: Option<u64>,
    /// How likely it is passed at the rate that was given for the agent.
    pub likelihood: f64,
}

/// Whether a margin can be shown when both sides come out the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MarginPower {
    /// The margin, as a share.
    pub margin: f64,
    /// Whether `n` pairs can show it.
    pub can_pass: bool,
    /// The least number of pairs that can.
    pub least_n: Option<u64>,
}
