//! The report of `proctor eval run --format json`: schema version 1.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, EstimateRecord};
use super::is_default;
use super::record::Score;

/// The version of the report's shape.
pub const REPORT_SCHEMA_VERSION: u32 = 1;

/// Everything that a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "they are the fields of the format")]
pub struct EvalReport {
    /// [`REPORT_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The runner.
    pub runner: String,
    /// The harness.
    pub harness: String,
    /// The model; `default` when none was named.
    pub model: String,
    /// The day that the user named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Whether the cases were run without the skill too.
    pub ablation: bool,
    /// Whether nothing was run.
    pub dry_run: bool,
    /// The skills, by id.
    pub skills: Vec<SkillReport>,
    /// The estimate of everything that was not replayed.
    pub estimate: Estimate,
    /// US dollars that were spent.
    pub cost_usd: f64,
    /// The built-in grader, when it graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grader: Option<String>,
    /// US dollars of the built-in grader.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grader_cost_usd: f64,
    /// Whether the model has a known price.
    pub price_known: bool,
    /// The model whose price was taken for one without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced_as: Option<String>,
    /// Whether a skill failed.
    pub failed: bool,
}

/// What one skill came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillReport {
    /// The skill.
    pub id: String,
    /// What was done with it.
    pub status: SkillStatus,
    /// The version of the harness that ran its cases, when the runner knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_version: Option<String>,
    /// The digest of the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The digest of its eval folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases_digest: Option<String>,
    /// The digest of the skill by the rules of the lock file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_digest: Option<String>,
    /// Whether the score reaches the threshold.
    pub passing: bool,
    /// What the cases came to; absent when nothing was scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// The cases, in the order in which they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<CaseReport>,
    /// What a run is expected to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// That beside what it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_vs_actual: Option<EstimateRecord>,
    /// Expanded cases.
    pub case_count: u64,
    /// Why it could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a reader should know beside the score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What is wrong with its case files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl SkillReport {
    /// A skill of which nothing is known but its status.
    pub fn new(id: impl Into<String>, status: SkillStatus) -> Self {
        Self {
            id: id.into(),
            status,
            harness_version: None,
            digest: None,
            cases_digest: None,
            lock_digest: None,
            passing: false,
            score: None,
            cases: Vec::new(),
            estimate: None,
            estimate_vs_actual: None,
            case_count: 0,
            error: None,
            warnings: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Whether it makes the run fail.
    pub fn failed(&self) -> bool {
        match self.status {
            SkillStatus::Invalid | SkillStatus::Error | SkillStatus::SkippedOverBudget => true,
            SkillStatus::Ran | SkillStatus::Cached => !self.passing,
            SkillStatus::DryRun | SkillStatus::NoCases | SkillStatus::SkippedUnchanged => false,
        }
    }
}

/// What was done with a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkillStatus {
    /// Its cases were run.
    Ran,
    /// A stored result holds.
    Cached,
    /// It would have been run.
    DryRun,
    /// It has no case files.
    NoCases,
    /// Its case files have mistakes, and none of its cases was run.
    Invalid,
    /// The runner could not run it.
    Error,
    /// The budget was spent before its turn.
    SkippedOverBudget,
    /// Nothing of it changed.
    SkippedUnchanged,
}

impl SkillStatus {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Cached => "cached",
            Self::DryRun => "dry-run",
            Self::NoCases => "no-cases",
            Self::Invalid => "invalid",
            Self::Error => "error",
            Self::SkippedOverBudget => "skipped-over-budget",
            Self::SkippedUnchanged => "skipped-unchanged",
        }
    }
}

impl fmt::Display for SkillStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What one case came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// The case.
    pub case: String,
    /// Whether the skill should fire.
    pub expect_trigger: bool,
    /// Whether it comes from a near-miss prompt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub near_miss: bool,
    /// What it came to.
    pub status: CaseStatus,
    /// Whether the skill fired; absent when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggered: Option<bool>,
    /// The skills that loaded, in order, where the runner knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fired: Vec<String>,
    /// Whether more than the firing was judged.
    pub outcome_graded: bool,
    /// Whether that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_passed: Option<bool>,
    /// Whether it passed without the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_passed: Option<bool>,
    /// The grade of the rubric, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric_score: Option<f64>,
    /// The grader's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric_note: Option<String>,
    /// US dollars, both ways together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost_usd: f64,
    /// Tokens in and out, both ways together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tokens: u64,
    /// Everything that does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Why there is no grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a case came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaseStatus {
    /// Everything holds.
    Passed,
    /// Something does not.
    Failed,
    /// There is no result; counts as a failure and is never kept.
    Error,
    /// The runner cannot run it; counts as nothing.
    Skipped,
}

impl CaseStatus {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for CaseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A mistake in a case file, as it stands in reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The file, relative to the project root where it lies below it.
    pub file: String,
    /// The line, from 1; 1 when the whole file is meant.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// Keeps the column, the field and the way out in the message.
impl From<&crate::Diagnostic> for Problem {
    fn from(diagnostic: &crate::Diagnostic) -> Self {
        let bare = crate::Diagnostic { file: None, location: None, ..diagnostic.clone() };
        let (line, message) = match diagnostic.location {
            Some(location) => (location.line, format!("column {}: {bare}", location.column)),
            None => (1, bare.to_string()),
        };
        let file = diagnostic.file.as_ref().map(ToString::to_string).unwrap_or_default();
        Self { file, line, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::go;
    use crate::{Diagnostic, Location};

    #[test]
    fn the_worked_example_is_read_and_written_byte_for_byte() {
        let text = concat!(
            r#"{"schema_version":1,"runner":"command","harness":"claude","model":"haiku","#,
            r#""date":"2026-10-05","ablation":true,"dry_run":false,"skills":[{"#,
            r#""id":"deploy-staging","status":"ran","digest":"sha256:a","cases_digest":"sha256:b","#,
            r#""lock_digest":"sha256:c","passing":false,"score":{"cases":3,"scored":3,"passed":2,"#,
            r#""failed":1,"errors":0,"skipped":0,"pass_rate":0.6667,"trigger_precision":0.5,"#,
            r#""trigger_recall":1,"near_miss_cases":1,"near_miss_false_positives":1,"#,
            r#""outcome_pass_with":1,"outcome_pass_without":0,"ablation_delta":1,"#,
            r#""ablation_cases":1,"skill_tokens":120,"run_tokens":5610,"run_input_tokens":5200,"#,
            r#""run_output_tokens":410,"cost_usd":0.043},"cases":[{"case":"deploy-basic","#,
            r#""expect_trigger":true,"status":"passed","triggered":true,"outcome_graded":true,"#,
            r#""outcome_passed":true,"without_passed":false,"rubric_score":0.9,"cost_usd":0.043,"#,
            r#""tokens":5610},{"case":"deploy-basic.near-miss-1","expect_trigger":false,"#,
            r#""near_miss":true,"status":"failed","triggered":true,"outcome_graded":false,"#,
            r#""failures":["fired but must stay quiet"]},{"case":"unrelated","#,
            r#""expect_trigger":false,"status":"passed","triggered":false,"#,
            r#""outcome_graded":false}],"estimate":{"agent_runs":6,"input_tokens":14044,"#,
            r#""output_tokens":3800,"cost_usd":0.033,"input_tokens_low":11560,"#,
            r#""input_tokens_high":18190,"output_tokens_low":2000,"output_tokens_high":11000,"#,
            r#""cost_low_usd":0.0216,"cost_high_usd":0.0732},"estimate_vs_actual":{"#,
            r#""low_usd":0.0216,"expected_usd":0.033,"high_usd":0.0732,"expected_tokens":17844,"#,
            r#""agent_runs":6,"expected_input_tokens":14044,"expected_output_tokens":3800,"#,
            r#""actual_input_tokens":5200,"actual_output_tokens":410,"params":{"#,
            r#""overhead_tokens":2000,"assumed_output_tokens":600,"tool_loop_factor":1,"#,
            r#""activation_output_tokens":150},"actual_usd":0.043,"actual_tokens":5610,"#,
            r#""error":0.303,"in_range":true},"case_count":3}],"estimate":{"agent_runs":6,"#,
            r#""input_tokens":14044,"output_tokens":3800,"cost_usd":0.033,"#,
            r#""input_tokens_low":11560,"input_tokens_high":18190,"output_tokens_low":2000,"#,
            r#""output_tokens_high":11000,"cost_low_usd":0.0216,"cost_high_usd":0.0732},"#,
            r#""cost_usd":0.043,"price_known":true,"failed":true}"#,
        );
        let report: EvalReport = serde_json::from_str(text).unwrap();
        assert_eq!(go::compact(&report).unwrap(), text);
        assert!(report.skills[0].failed());
    }

    #[test]
    fn the_words_of_a_status_are_those_of_the_file() {
        for status in [
            SkillStatus::Ran,
            SkillStatus::Cached,
            SkillStatus::DryRun,
            SkillStatus::NoCases,
            SkillStatus::Invalid,
            SkillStatus::Error,
            SkillStatus::SkippedOverBudget,
            SkillStatus::SkippedUnchanged,
        ] {
            assert_eq!(serde_json::to_string(&status).unwrap(), format!("\"{status}\""));
            assert_eq!(
                SkillReport::new("a", status).failed(),
                !matches!(
                    status,
                    SkillStatus::DryRun | SkillStatus::NoCases | SkillStatus::SkippedUnchanged
                )
            );
        }
    }

    #[test]
    fn a_problem_keeps_what_a_diagnostic_knows() {
        let diagnostic = Diagnostic::error("unknown key")
            .in_file("a.eval.yaml")
            .at(Location { line: 4, column: 7 })
            .field("cases[0].promt")
            .hint("did you mean `prompt`?");
        let problem = Problem::from(&diagnostic);
        assert_eq!((problem.file.as_str(), problem.line), ("a.eval.yaml", 4));
        assert_eq!(
            problem.message,
            "column 7: cases[0].promt: unknown key (hint: did you mean `prompt`?)"
        );
        let whole = Problem::from(&Diagnostic::error("file is empty").in_file("a.eval.yaml"));
        assert_eq!((whole.line, whole.message.as_str()), (1, "file is empty"));
    }
}
