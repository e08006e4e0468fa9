//! The result file of `claude plugin eval`, as of Claude Code 2.1.332 (`schemaVersion` 1).

use std::collections::BTreeMap;

use proctor_grade::eval::{ArmResult, Outcome, RubricBy, Vote, VotedRun, vote};
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult};
use serde::Deserialize;

use super::suite::{RUBRIC, TRIGGER, assertion_name};
use crate::eval::runner::JudgedRun;

/// Characters of a grader's explanation that are kept.
const SHOWN: usize = 300;

/// The document. What is not listed is not needed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// US dollars for everything.
    #[serde(default)]
    pub(super) cost_usd: Option<f64>,
    /// Whether it ended before everything was run.
    #[serde(default)]
    pub(super) partial: bool,
    /// Why.
    #[serde(default)]
    pub(super) partial_reason: Option<String>,
    #[serde(default)]
    suite: Suite,
    cases: Vec<Case>,
}

#[derive(Debug, Default, Deserialize)]
struct Suite {
    #[serde(default)]
    plugins: Vec<Plugin>,
}

#[derive(Debug, Deserialize)]
struct Plugin {
    #[serde(default)]
    problem: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Case {
    #[serde(default)]
    name: String,
    #[serde(default)]
    dir: String,
    #[serde(default)]
    arms: Arms,
}

#[derive(Debug, Default, Deserialize)]
struct Arms {
    #[serde(default)]
    with: Vec<Run>,
    #[serde(default)]
    without: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    #[serde(default)]
    cost_usd: Option<f64>,
    #[serde(default)]
    judge_cost_usd: Option<f64>,
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    trace_path: String,
    #[serde(default)]
    graders: Vec<Grader>,
}

#[derive(Debug, Deserialize)]
struct Grader {
    #[serde(default)]
    name: String,
    #[serde(default)]
    passed: bool,
    #[serde(default)]
    explanation: String,
}

impl Document {
    /// Why the plugin took no part in the runs, which then measured nothing.
    pub(super) fn plugin_problem(&self) -> Option<String> {
        if self.suite.plugins.is_empty() {
            return Some("it names no plugin".to_owned());
        }
        let problem = self.suite.plugins.iter().find_map(|plugin| plugin.problem.as_ref())?;
        (!problem.is_null()).then(|| problem.to_string())
    }

    /// What a case came to in one arm: the result in the words of the protocol, and judged.
    pub(super) fn arm(&self, case: &ExpandedCase, arm: Arm) -> (CaseResult, ArmResult) {
        let runs = self.runs(&case.id, arm);
        let mut result = spent(case, arm, runs);
        let vote_of = |run: &Run| run.vote(case, arm, RubricBy::Runner);
        let voted: Vec<VotedRun> = runs.iter().map(vote_of).collect();
        let judged = match vote(&voted) {
            Vote::Error(reason) => ArmResult::Error { reason },
            Vote::Decided { triggered, passed } => {
                result.triggered = (arm == Arm::With).then_some(triggered);
                result.passed = passed;
                let passed = passed.unwrap_or(true);
                let failures =
                    if passed { Vec::new() } else { failures(case, runs, RubricBy::Runner) };
                let outcome = Outcome {
                    graded: !case.is_trigger_only(),
                    passed,
                    failures,
                    checked: Vec::new(),
                    rubric_score: None,
                    rubric_note: rubric_note(runs),
                };
                ArmResult::Graded { triggered: result.triggered, outcome }
            }
        };
        if let ArmResult::Error { reason } = &judged {
            result.error = Some(reason.clone());
        }
        (result, judged)
    }

    /// The same for a rubric that the built-in grader grades: what was used, and every run with what
    /// the agent answered, which `answer` finds in a trace. A run whose answer is lost has no result.
    pub(super) fn to_grade(
        &self,
        case: &ExpandedCase,
        arm: Arm,
        answer: &dyn Fn(&str) -> Result<Option<String>, String>,
    ) -> (CaseResult, Vec<JudgedRun>) {
        let runs = self.runs(&case.id, arm);
        let judged = runs.iter().map(|run| {
            let voted = run.vote(case, arm, RubricBy::Builtin);
            let said = voted.error.map_or_else(|| answer(&run.trace_path), Err);
            match said {
                Err(reason) => {
                    JudgedRun { judged: ArmResult::Error { reason }, answer: None, kept: None }
                }
                Ok(answer) => {
                    let passed = voted.passed.unwrap_or(true);
                    let run = std::slice::from_ref(run);
                    let outcome = Outcome {
                        graded: true,
                        passed,
                        failures: if passed {
                            Vec::new()
                        } else {
                            failures(case, run, RubricBy::Builtin)
                        },
                        checked: Vec::new(),
                        rubric_score: None,
                        rubric_note: None,
                    };
                    let triggered = (arm == Arm::With).then_some(voted.fired);
                    JudgedRun {
                        judged: ArmResult::Graded { triggered, outcome },
                        answer,
                        kept: None,
                    }
                }
            }
        });
        (spent(case, arm, runs), judged.collect())
    }

    fn runs(&self, case: &str, arm: Arm) -> &[Run] {
        let last = |dir: &str| dir.rsplit('/').next() == Some(case);
        let found = self.cases.iter().find(|found| found.name == case || last(&found.dir));
        found.map_or(&[], |found| match arm {
            Arm::With => &found.arms.with,
            Arm::Without => &found.arms.without,
        })
    }
}

impl Run {
    /// The voice of one run in the vote.
    fn vote(&self, case: &ExpandedCase, arm: Arm, rubrics: RubricBy) -> VotedRun {
        let error = |error: String| VotedRun { error: Some(error), ..VotedRun::default() };
        match &self.error {
            None | Some(serde_json::Value::Null) => {}
            Some(serde_json::Value::String(words)) => return error(words.clone()),
            Some(other) => return error(other.to_string()),
        }
        let graders: BTreeMap<&str, bool> =
            self.graders.iter().map(|grader| (grader.name.as_str(), grader.passed)).collect();
        // The grader of a case that must not fire the skill passes when it stays quiet.
        let fired = graders.get(TRIGGER).map(|passed| *passed == case.expect_trigger);
        let fired = match (arm, fired) {
            (Arm::With, None) => return error(missing(TRIGGER)),
            (Arm::Without, Some(true)) => {
                return error(
                    "the skill fired in the run without it: another copy of it is installed"
                        .to_owned(),
                );
            }
            (_, fired) => fired.unwrap_or(false),
        };
        let mut passed = None;
        for (name, _) in expected(case, rubrics) {
            match graders.get(name.as_str()) {
                Some(verdict) => passed = Some(passed.unwrap_or(true) && *verdict),
                None => return error(missing(&name)),
            }
        }
        VotedRun { error: None, fired, passed }
    }
}

/// What the runs of a case used, in the words of the protocol.
fn spent(case: &ExpandedCase, arm: Arm, runs: &[Run]) -> CaseResult {
    let cost = |run: &Run| run.cost_usd.unwrap_or(0.0) + run.judge_cost_usd.unwrap_or(0.0);
    CaseResult {
        case: case.id.clone(),
        arm: arm.as_str().to_owned(),
        cost_usd: (!runs.is_empty()).then(|| runs.iter().map(cost).sum()),
        ..CaseResult::default()
    }
}

fn missing(grader: &str) -> String {
    format!("the result has no verdict of the grader `{grader}`")
}

/// The graders of the outcome, each with a name for people.
fn expected(
    case: &ExpandedCase,
    rubrics: RubricBy,
) -> impl Iterator<Item = (String, &'static str)> {
    let assertions = case.assertions.iter().enumerate();
    let rubric = case.rubric.iter().filter(move |_| rubrics == RubricBy::Runner);
    let rubric = rubric.map(|_| (RUBRIC.to_owned(), RUBRIC));
    assertions
        .map(|(index, assertion)| (assertion_name(index), assertion.type_name()))
        .chain(rubric)
}

/// One message for each grader that did not pass every run.
fn failures(case: &ExpandedCase, runs: &[Run], rubrics: RubricBy) -> Vec<String> {
    let mut failures = Vec::new();
    let usable = runs.iter().filter(|run| !run.graders.is_empty()).count();
    for (name, label) in expected(case, rubrics) {
        let failed: Vec<&Grader> = runs
            .iter()
            .flat_map(|run| &run.graders)
            .filter(|grader| grader.name == name && !grader.passed)
            .collect();
        if let Some(first) = failed.first() {
            let of = if usable > 1 {
                format!(" (in {} of {usable} runs)", failed.len())
            } else {
                String::new()
            };
            failures.push(format!("{label}: {}{of}", shown(&first.explanation)));
        }
    }
    failures
}

fn rubric_note(runs: &[Run]) -> Option<String> {
    let graders = runs.iter().rev().flat_map(|run| &run.graders);
    let note = graders.filter(|grader| grader.name == RUBRIC).map(|g| shown(&g.explanation)).next();
    note.filter(|note| !note.is_empty())
}

/// A text on one line, not too long.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(SHOWN).collect()
}
