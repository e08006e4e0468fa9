//! Two runs or two groups held against each other: `proctor compare`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metrics::{FigureInterval, MetricUnit};

/// The version of [`ComparisonReport`].
pub const COMPARISON_VERSION: u32 = 1;

/// What a comparison came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonReport {
    /// [`COMPARISON_VERSION`].
    pub schema_version: u32,
    /// What is held against.
    pub baseline: String,
    /// What is held against it.
    pub candidate: String,
    /// The key whose values are compared; null for two runs.
    pub by: Option<String>,
    /// Which trials were asked about, as `KEY=VALUE`.
    pub filters: Vec<String>,
    /// From which p-value on a difference is put down to chance.
    pub level: f64,
    /// The margin of the gate, as a share; null without one.
    pub margin: Option<f64>,
    /// The verdict of the gate: the worst of the contrasts.
    pub verdict: CompareVerdict,
    /// One plain sentence.
    pub conclusion: String,
    /// What is compared with what: for two runs all of their trials, then each group of variants that
    /// differ in nothing but the prompt; otherwise each value with the first.
    pub contrasts: Vec<Contrast>,
    /// What may make the two sides different beside what is compared.
    pub warnings: Vec<String>,
}

/// The verdict of a comparison.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CompareVerdict {
    /// The candidate passes more often than chance explains.
    Better,
    /// With a margin: the candidate is shown not to be worse by more than it.
    NotInferior,
    /// Chance explains the difference. That does not show that there is none.
    NoDifferenceShown,
    /// With a margin: the candidate may be worse by more than it.
    NotShown,
    /// Fewer than half of the baseline's results have a result beside them.
    Incomplete,
    /// The candidate passes less often than chance explains.
    Worse,
}

impl CompareVerdict {
    /// Whether a gate lets it pass.
    pub fn holds(self) -> bool {
        matches!(self, Self::Better | Self::NotInferior | Self::NoDifferenceShown)
    }

    /// The words in reports for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NotInferior => "not inferior",
            Self::NoDifferenceShown => "no difference shown",
            Self::NotShown => "not shown to be as good",
            Self::Incomplete => "incomplete",
            Self::Worse => "worse",
        }
    }
}

impl fmt::Display for CompareVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Two sets of trials, cell by cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contrast {
    /// What the two sides have in common: `all`, or coordinates.
    pub name: String,
    /// The first side.
    pub baseline: String,
    /// The second side.
    pub candidate: String,
    /// The verdict.
    pub verdict: CompareVerdict,
    /// Cells in which both sides passed or failed.
    pub pairs: PairTable,
    /// How many prompts the pairs have.
    pub prompts: u64,
    /// The pass rate of the candidate less that of the baseline, over the pairs; null without pairs.
    pub difference: Option<f64>,
    /// Its interval of 95 %.
    pub interval: Option<FigureInterval>,
    /// The same when only prompts are independent; null where no prompt repeats.
    pub clustered: Option<FigureInterval>,
    /// The p-value of the exact test of `McNemar`, two-sided; null when no pair differs.
    pub p_value: Option<f64>,
    /// The same after Holm's correction over the contrasts beside it; null where there is one only.
    pub adjusted_p: Option<f64>,
    /// How many pairs must differ before a difference can be told from chance, if as many as now go
    /// against it.
    pub needed: u64,
    /// The gate of the margin; null without one, and for parts of two runs.
    pub non_inferiority: Option<NonInferiority>,
    /// Cells that came out differently.
    pub flips: Vec<Flip>,
    /// Cost, time and tokens: the candidate less the baseline.
    pub metrics: Vec<ComparedMetric>,
    /// Cells that are on one side only, or have no result on one.
    pub unpaired: Unpaired,
}

/// How pairs came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairTable {
    /// All of them.
    pub n: u64,
    /// Both sides passed.
    pub both_passed: u64,
    /// The baseline passed and the candidate failed.
    pub pass_to_fail: u64,
    /// The baseline failed and the candidate passed.
    pub fail_to_pass: u64,
    /// Both sides failed.
    pub both_failed: u64,
}

/// Whether the candidate is shown not to be worse by more than the margin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NonInferiority {
    /// The margin, as a share.
    pub margin: f64,
    /// The lower end of the interval that decides: the clustered one where there is one.
    pub low: f64,
    /// Whether it lies above minus the margin.
    pub shown: bool,
    /// How many pairs would show it when both sides come out the same, at the baseline's pass rate.
    pub pairs_needed: Option<u64>,
}

/// A cell: what two trials that are compared have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Its coordinates, without the one that is compared.
    pub coordinates: BTreeMap<String, String>,
    /// Which repetition, from 0.
    pub repeat: u32,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for value in self.coordinates.values() {
            write!(f, "{value} ")?;
        }
        write!(f, "#{}", self.repeat)
    }
}

/// A cell that came out differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// Where.
    pub cell: Cell,
    /// What the baseline came to: `pass` or `fail`.
    pub from: String,
    /// What the candidate came to.
    pub to: String,
    /// The baseline's trial.
    pub baseline_trial: String,
    /// The candidate's trial.
    pub candidate_trial: String,
    /// The tests that passed in the one trial and failed in the other.
    pub tests: Vec<String>,
}

/// The difference of a mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedMetric {
    /// Its name.
    pub metric: String,
    /// What it is measured in.
    pub unit: MetricUnit,
    /// Pairs in which both sides report it.
    pub n: u64,
    /// The mean of the baseline over them; null without one.
    pub baseline: Option<f64>,
    /// The mean of the candidate.
    pub candidate: Option<f64>,
    /// The candidate's less the baseline's.
    pub difference: Option<f64>,
    /// Its interval of 95 %.
    pub interval: Option<FigureInterval>,
    /// Why there is no difference, or no interval.
    pub undefined: Option<String>,
}

/// Cells that are in no pair.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// Of the baseline only, with a result.
    pub baseline_only: Vec<Cell>,
    /// Of the candidate only.
    pub candidate_only: Vec<Cell>,
    /// The baseline's trial is an error.
    pub baseline_errors: Vec<Cell>,
    /// The candidate's trial is an error, and the baseline's has a result.
    pub candidate_errors: Vec<Cell>,
}
