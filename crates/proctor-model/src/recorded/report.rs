//! The report of `proctor score`.
//!
//! Field order is the order of the keys in the file. Nothing here depends on a clock, a host, a
//! locale or the place of a file on a disk: the same input gives the same bytes.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::{Category, ContractVersion, Kind, Scalar, Violation};
use crate::json::Json;
use crate::{Digest, ExitCode};

/// What a check or a run comes to, worst first: the verdict of several is the least of them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The run breaks the contract and was not scored. Never the verdict of a check.
    Error,
    /// The evidence is there and speaks against the system.
    Fail,
    /// The evidence is missing.
    Unknown,
    /// The evidence is there and the check holds.
    Pass,
}

impl Verdict {
    /// Every verdict, worst first.
    pub const ALL: [Self; 4] = [Self::Error, Self::Fail, Self::Unknown, Self::Pass];

    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
            Self::Pass => "pass",
        }
    }

    /// The verdict of several; `unknown` when there are none.
    pub fn worst(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().min().unwrap_or(Self::Unknown)
    }

    /// The exit code of a process with this verdict. Its number is no rank.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Pass => ExitCode(0),
            Self::Fail => ExitCode(1),
            Self::Unknown => ExitCode(2),
            Self::Error => ExitCode(3),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The checks that a fixture can declare, in the order of reports.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum CheckName {
    /// The answer is a value.
    AnswerEquals,
    /// The answer contains every value.
    MustContain,
    /// The answer contains no value.
    MustNotContain,
    /// The order is a list.
    Order,
    /// The entity is a name.
    AttributedTo,
}

impl CheckName {
    /// Every check.
    pub const ALL: [Self; 5] = [
        Self::AnswerEquals,
        Self::MustContain,
        Self::MustNotContain,
        Self::Order,
        Self::AttributedTo,
    ];

    /// The name in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AnswerEquals => "answerEquals",
            Self::MustContain => "mustContain",
            Self::MustNotContain => "mustNotContain",
            Self::Order => "order",
            Self::AttributedTo => "attributedTo",
        }
    }

    /// The field of a run that the check reads.
    pub fn reads(self) -> &'static str {
        match self {
            Self::AnswerEquals | Self::MustContain | Self::MustNotContain => "actual.answer",
            Self::Order => "actual.order",
            Self::AttributedTo => "actual.entity",
        }
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a check or a run is no pass: a closed list.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// `unknown`: the fixture declares no check.
    NoChecksDeclared,
    /// `unknown`: the check lists no value.
    NoValuesListed,
    /// `unknown`: the run has no `actual`.
    ActualMissing,
    /// `unknown`: the field that the check reads is absent or blank.
    FieldMissing,
    /// `unknown`: the answer was cut off, and what is missing may have come later.
    AnswerTruncated,
    /// `fail`: `order` is another list.
    OrderDiffers,
    /// `fail`: the answer is another value.
    NotEqual,
    /// `fail`: the answer lacks a value.
    ValueMissing,
    /// `fail`: the answer has a value that it must not have.
    StaleValuePresent,
    /// `fail`: the answer is about somebody or something else.
    EntityDiffers,
    /// `error`: the run breaks the contract.
    ContractViolation,
}

impl Reason {
    /// The name in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoChecksDeclared => "no_checks_declared",
            Self::NoValuesListed => "no_values_listed",
            Self::ActualMissing => "actual_missing",
            Self::FieldMissing => "field_missing",
            Self::AnswerTruncated => "answer_truncated",
            Self::OrderDiffers => "order_differs",
            Self::NotEqual => "not_equal",
            Self::ValueMissing => "value_missing",
            Self::StaleValuePresent => "stale_value_present",
            Self::EntityDiffers => "entity_differs",
            Self::ContractViolation => "contract_violation",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a payload is evidence of. The two must not be mistaken for one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// What the system said.
    Answer,
    /// What its memory gave back.
    Retrieval,
}

impl Subject {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Retrieval => "retrieval",
        }
    }
}

/// What stands in `notes`: beside the notes of adapters, a closed list.
pub mod note {
    /// A number that a check compared is an integer that no double equals.
    pub const INEXACT_NUMBER: &str = "inexact_number";
    /// `order` differs, and would not if case, white space and normal form did not matter.
    pub const DIFFERS_ONLY_BY_NORMALISATION: &str = "differs_only_by_normalisation";
    /// The verdict rests on a value that was found only inside a longer word.
    pub const ONLY_INSIDE_WORD: &str = "only_inside_word";
    /// Values were looked for as whole words, and not anywhere.
    pub const BOUNDARY_WORD: &str = "boundary_word";
    /// Begins the note that names the field by which an adapter sorted `order`.
    pub const ORDER_BY: &str = "order_by:";
    /// The answer is there and blank, so that what is absent from it proves nothing.
    pub const BLANK_ANSWER: &str = "blank_answer";
    /// An earlier run of the same report has the same fixture id and other content.
    pub const DUPLICATE_ID: &str = "duplicate_id";
    /// Of a whole report: there was nothing to score.
    pub const NO_RUNS: &str = "no fixture-runs found";
}

/// The report of one run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport<'a> {
    /// Where the run was read from, with `/` between names; absent when one run alone was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
    /// The version of the contract.
    pub contract_version: ContractVersion,
    /// [`super::EVALUATOR_VERSION`].
    pub evaluator_version: &'static str,
    /// The receipt: what was read of the fixture. Null when nothing could be read.
    pub fixture: Option<FixtureEcho<'a>>,
    /// SHA-256 of the input in canonical form (RFC 8785); null when that form does not exist.
    #[schemars(with = "Option<String>")]
    pub input_digest: Option<InputDigest>,
    /// The adapter that normalised the payload.
    pub adapter: Option<&'a str>,
    /// What the checks looked at; null when there was nothing to look at.
    pub subject: Option<Subject>,
    /// The worst verdict of the checks.
    pub verdict: Verdict,
    /// Why, where no check says it: `no_checks_declared` or `contract_violation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What the run was meant to score; only in a self-test. Null when the fixture does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended: Option<Option<Verdict>>,
    /// Every declared check; none when the contract is broken.
    pub checks: Vec<CheckReport<'a>>,
    /// Every violation of the contract, by pointer; absent when there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// What a reader should know beside the verdict: [`note`]s and those of adapters.
    pub notes: Vec<Cow<'a, str>>,
}

/// What was read of a fixture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct FixtureEcho<'a> {
    /// The id; null when it could not be read.
    pub id: Option<&'a str>,
    /// The category; null when it could not be read.
    pub category: Option<Category>,
    /// The kind; null when it could not be read.
    pub kind: Option<Kind>,
    /// The question, value for value; absent when the fixture has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<&'a Json<'a>>,
    /// The memory, value for value; absent when the fixture has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<&'a Json<'a>>,
}

/// The digest of an input, as `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputDigest(pub Digest);

impl Serialize for InputDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for InputDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CheckReport<'a> {
    /// The check.
    pub check: CheckName,
    /// `pass`, `fail` or `unknown`.
    pub verdict: Verdict,
    /// The field that it read.
    pub reads: &'static str,
    /// What it expected, value for value.
    pub expected: Echo<'a>,
    /// What it found; empty when there was nothing to look at.
    pub items: Vec<Item<'a>>,
    /// Why it is no pass; null when it is.
    pub reason: Option<Reason>,
}

/// What a check found of one expected value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Item<'a> {
    /// Of `order` only: the first place, from 0, at which the lists differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The expected value; null where `order` has more elements than were expected.
    pub value: Echo<'a>,
    /// Whether it is there.
    pub found: bool,
    /// Whether it stands as a word of its own; null when it is not there or was compared whole.
    pub boundary: Option<bool>,
    /// What decided, from the answer as it was given; null when there is nothing to show.
    pub excerpt: Option<String>,
}

/// A value of the input, as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline, with = "Json")]
pub enum Echo<'a> {
    /// Nothing.
    Null,
    /// A value.
    Value(&'a Json<'a>),
    /// A list of values.
    List(&'a [Json<'a>]),
    /// A scalar.
    Scalar(Scalar<'a>),
}

/// How many runs came to each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Runs that break the contract.
    pub error: u64,
    /// Runs that fail.
    pub fail: u64,
    /// Runs without the evidence.
    pub unknown: u64,
    /// Runs that pass.
    pub pass: u64,
}

impl Counts {
    /// Counts one more run.
    pub fn add(&mut self, verdict: Verdict) {
        *self.of_mut(verdict) += 1;
    }

    /// Adds other runs.
    pub fn merge(&mut self, other: Self) {
        for verdict in Verdict::ALL {
            *self.of_mut(verdict) += other.of(verdict);
        }
    }

    /// How many runs came to `verdict`.
    pub fn of(&self, verdict: Verdict) -> u64 {
        match verdict {
            Verdict::Error => self.error,
            Verdict::Fail => self.fail,
            Verdict::Unknown => self.unknown,
            Verdict::Pass => self.pass,
        }
    }

    /// All runs.
    pub fn total(&self) -> u64 {
        Verdict::ALL.into_iter().map(|verdict| self.of(verdict)).sum()
    }

    /// The worst verdict that occurs; `unknown` without runs.
    pub fn verdict(&self) -> Verdict {
        Verdict::worst(Verdict::ALL.into_iter().filter(|verdict| self.of(*verdict) > 0))
    }

    fn of_mut(&mut self, verdict: Verdict) -> &mut u64 {
        match verdict {
            Verdict::Error => &mut self.error,
            Verdict::Fail => &mut self.fail,
            Verdict::Unknown => &mut self.unknown,
            Verdict::Pass => &mut self.pass,
        }
    }
}

/// Everything about a set of runs but the runs themselves.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The worst verdict of the runs; `unknown` without runs. In a self-test, whether every run
    /// scored what it was meant to.
    pub verdict: Verdict,
    /// How many runs came to each verdict.
    pub counts: Counts,
    /// Files and directories that were left out: hidden ones, `node_modules`, `target`, linked
    /// directories, what was excluded, and files that had been read already.
    pub skipped: u64,
    /// What a reader should know about the whole.
    pub notes: Vec<Cow<'static, str>>,
    /// The runs by category and kind; cells without runs are left out.
    pub matrix: Vec<Cell>,
    /// Whether the evaluator gave what each fixture foresees; only in a self-test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// How verdicts and labels agree; only with labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
}

/// A cell of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The category; null for runs of which it could not be read.
    pub category: Option<Category>,
    /// The kind; null for runs of which it could not be read.
    pub kind: Option<Kind>,
    /// The worst verdict of the cell.
    pub verdict: Verdict,
    /// How many runs came to each verdict.
    pub counts: Counts,
}

/// The result of a self-test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelfTest {
    /// Runs that scored what they were meant to.
    pub as_intended: u64,
    /// Runs that scored something else.
    pub otherwise: u64,
    /// Runs of which the intention could not be read; they count as a failure of the test.
    pub undecided: u64,
}

/// How the verdicts of runs agree with labels given to them by somebody else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agreement {
    /// How many labelled runs came to each verdict, worst verdict last.
    pub table: Vec<LabelRow>,
    /// Runs without a label.
    pub unlabelled: u64,
    /// Labels without a run.
    pub unused: u64,
    /// Cohen's kappa of the runs that passed or failed; null when there are none or chance alone
    /// gives full agreement.
    pub kappa: Estimate,
    /// The share of the runs that passed or failed of which the verdict is the label.
    pub agree: Estimate,
    /// The share of the passes that are labelled `pass`.
    pub pass_is_right: Estimate,
    /// The share of the fails that are labelled `fail`.
    pub fail_is_right: Estimate,
}

/// The labelled runs with one verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelRow {
    /// The verdict.
    pub verdict: Verdict,
    /// Runs that are labelled as right.
    pub labelled_pass: u64,
    /// Runs that are labelled as wrong.
    pub labelled_fail: u64,
}

/// A figure with its 95 % interval, to four digits; all null when there is nothing to estimate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub value: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
}

/// The report of a set of runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SetReport<'a> {
    /// Everything but the runs.
    #[serde(flatten)]
    pub summary: Summary,
    /// The runs, by path.
    pub runs: Vec<RunReport<'a>>,
}
