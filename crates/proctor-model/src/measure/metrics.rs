//! Metrics by group: `proctor experiment query --metric`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`MetricsReport`].
pub const METRICS_VERSION: u32 = 1;

/// Metrics of trials by group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsReport {
    /// [`METRICS_VERSION`].
    pub schema_version: u32,
    /// What was asked about: the id of an experiment, a run or a trial.
    pub subject: String,
    /// The runs whose trials are in it, the earliest first.
    pub runs: Vec<String>,
    /// The keys of the groups, in the order in which they were asked for.
    pub group_by: Vec<String>,
    /// Which trials were asked about, as `KEY=VALUE`.
    pub filters: Vec<String>,
    /// The groups, by their values.
    pub groups: Vec<MetricsGroup>,
    /// What a reader should know beside the figures.
    pub notes: Vec<String>,
}

/// The trials that have the same values for all keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsGroup {
    /// The values by key; null for a coordinate that these trials lack.
    pub group: BTreeMap<String, Option<String>>,
    /// Trials that passed or failed: those which the figures are about.
    pub n: u64,
    /// Trials that say nothing about the agent. They are in no figure.
    pub errors: u64,
    /// How many prompts the `n` trials have.
    pub prompts: u64,
    /// The figures, in the order in which they were asked for.
    pub metrics: Vec<MetricFigure>,
}

/// One figure of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricFigure {
    /// Its name: `pass-rate`, `cost`, `pass@3`, ...
    pub metric: String,
    /// What it is measured in.
    pub unit: MetricUnit,
    /// The rate or the mean; null when it is undefined.
    pub value: Option<f64>,
    /// Why there is no value, or no interval.
    pub undefined: Option<String>,
    /// How many observations it is made of.
    pub n: u64,
    /// What they are: `trials`, `tests`, or `variants` for figures that each variant has.
    pub of: String,
    /// For rates, how many of them are successes.
    pub successes: Option<u64>,
    /// How many observations are not there: trials whose agent does not report it, tests without a
    /// result. They are in no figure.
    pub missing: u64,
    /// The interval of 95 %: for rates Wilson's, which takes observations to be independent.
    pub interval: Option<FigureInterval>,
    /// For rates of which observations go together: the interval of 95 % when only the clusters are
    /// independent.
    pub clustered: Option<FigureInterval>,
}

/// An interval and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How it was found.
    pub method: IntervalMethod,
    /// How many independent units it rests on.
    pub clusters: u64,
    /// What they are: `prompts`, `trials`, `tests` or `variants`.
    pub unit: String,
}

/// How an interval was found. `docs/statistics.md` has the formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Wilson's score interval.
    Wilson,
    /// The same over the effective number of observations.
    WilsonClustered,
    /// Newcombe's interval for the difference of paired rates.
    Newcombe,
    /// The same over the effective number of pairs.
    NewcombeClustered,
    /// The bias-corrected and accelerated bootstrap, widened for few units.
    Bootstrap,
    /// Student's distribution with the clustered standard error: below five units.
    Student,
}

impl IntervalMethod {
    /// The word in reports for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wilson => "Wilson",
            Self::WilsonClustered => "Wilson, clustered",
            Self::Newcombe => "Newcombe",
            Self::NewcombeClustered => "Newcombe, clustered",
            Self::Bootstrap => "bootstrap",
            Self::Student => "Student's t",
        }
    }
}

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    /// From 0 to 1.
    Share,
    /// US dollars.
    Usd,
    /// Seconds.
    Seconds,
    /// A number of tokens, calls, tests or turns.
    Count,
}
