//! What people say of answers, and how a judge that is a model compares with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::eval::Rubric;

/// The version of the shape of [`JudgeReport`].
pub const JUDGE_REPORT_SCHEMA_VERSION: u32 = 1;

/// An answer, and what somebody who knows says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledAnswer {
    /// Unique among the answers of a file.
    pub id: String,
    /// What the answer is judged by.
    pub rubric: Rubric,
    /// The answer.
    pub answer: String,
    /// What people say of it.
    pub label: HumanLabel,
}

/// What people say of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HumanLabel {
    /// Whether it passes.
    Verdict(bool),
    /// Its score, 0 to 1.
    Score(f64),
}

impl LabelledAnswer {
    /// Whether people pass it.
    pub fn people_pass(&self) -> bool {
        match self.label {
            HumanLabel::Verdict(passes) => passes,
            HumanLabel::Score(score) => self.passes(score),
        }
    }

    /// Whether it passes with this score.
    pub fn passes(&self, score: f64) -> bool {
        score >= self.rubric.pass_mark()
    }
}

/// How a judge compares with people, on answers that people labelled. Shares are from 0 to 1 and
/// rounded to four decimals; intervals are of 95 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeReport {
    /// [`JUDGE_REPORT_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The judge: its model and the version of the prompt. Figures of two judges are not of one
    /// kind.
    pub judge: String,
    /// The SHA-256 digest of the file of labels.
    pub labels_digest: String,
    /// How often each answer was judged.
    pub repeat: u32,
    /// Whether nothing was asked.
    pub dry_run: bool,
    /// Why some answers were never shown to the judge; `null` when all were.
    pub stopped: Option<String>,
    /// How many answers came to what.
    pub answers: JudgeCounts,
    /// The share of graded answers on which judge and people agree.
    pub agreement: Option<Share>,
    /// Cohen's kappa: agreement beyond what chance gives. `null` when it is not defined.
    pub kappa: Option<Figure>,
    /// Why there is no kappa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa_undefined: Option<String>,
    /// Of what people failed, the share that the judge passes.
    pub leniency: Option<Share>,
    /// Of what people passed, the share that the judge fails.
    pub strictness: Option<Share>,
    /// The mean of the judge's score less that of people, over answers that people scored; `null`
    /// below two of them.
    pub bias: Option<Figure>,
    /// How steady the judge is; `null` when each answer was judged once.
    pub flicker: Option<Flicker>,
    /// What the questions cost or may cost.
    pub cost: JudgeCost,
    /// The gate, when one was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<JudgeGate>,
    /// What a reader should know beside the figures.
    pub warnings: Vec<String>,
    /// Every answer, in the order of the file; empty when nothing was asked.
    pub items: Vec<JudgedItem>,
}

/// How many answers came to what. The first time that each was judged counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeCounts {
    /// All in the file.
    pub total: u64,
    /// With a grade.
    pub graded: u64,
    /// Without one: the judge failed, said something else, or was not shown it.
    pub ungraded: u64,
    /// Graded, and passed by both.
    pub both_pass: u64,
    /// Graded, and failed by both.
    pub both_fail: u64,
    /// Graded; the judge passes what people failed.
    pub false_pass: u64,
    /// Graded; the judge fails what people passed.
    pub false_fail: u64,
}

/// A share of a number of things.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// How many have it.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// The share.
    pub value: f64,
    /// The lower end of Wilson's interval.
    pub low: f64,
    /// The upper end of it.
    pub high: f64,
}

/// A figure with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of it.
    pub high: f64,
}

/// How much a judge differs from itself on the same answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flicker {
    /// Answers whose verdict changed, of those that were graded at least twice.
    pub verdicts: Option<Share>,
    /// Highest less lowest score of an answer: the mean over answers.
    pub mean_spread: f64,
    /// The same: the largest.
    pub max_spread: f64,
}

/// What the questions cost, or in a dry run may cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeCost {
    /// Questions.
    pub questions: u64,
    /// Tokens of all questions, counted with `cl100k_base`.
    pub input_tokens: u64,
    /// US dollars when replies are short, as they are from models that do not think; `null` when
    /// the price is not known.
    pub expected_usd: Option<f64>,
    /// US dollars when each reply takes all that it may.
    pub high_usd: Option<f64>,
    /// US dollars that were charged.
    pub spent_usd: f64,
}

/// A mark that a judge must reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeGate {
    /// The least kappa.
    pub min_kappa: f64,
    /// Whether it is reached; an undefined kappa does not.
    pub passed: bool,
}

/// One answer and how it was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedItem {
    /// The answer.
    pub id: String,
    /// Whether people pass it.
    pub people_pass: bool,
    /// The score that people give it.
    pub people_score: Option<f64>,
    /// Whether the judge passes it, the first time.
    pub judge_pass: Option<bool>,
    /// The judge's scores, one for each time; `null` where there is none.
    pub scores: Vec<Option<f64>>,
    /// The judge's reason, the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Why there is no grade, the first time that there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ungraded: Option<String>,
}
