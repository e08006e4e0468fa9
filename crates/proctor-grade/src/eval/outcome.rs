//! What one case came to in one arm.

use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult};

use super::assertion::{Evidence, failures};
use super::round::round4;

/// The grade that a judge gives an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    /// From 0 to 1.
    pub score: f64,
    /// Why, in one line.
    pub rationale: String,
}

/// Who grades rubrics.
#[derive(Debug, Clone, PartialEq)]
pub enum RubricGrade {
    /// The runner did.
    Runner,
    /// The built-in grader, with this grade.
    Builtin(Grade),
    /// The built-in grader gave none, for this reason: the rubric is not met.
    Ungraded(String),
}

/// What one case came to in one arm.
#[derive(Debug, Clone, PartialEq)]
pub enum ArmResult {
    /// The runner cannot run the case.
    Skipped {
        /// Why.
        reason: String,
    },
    /// There is no result.
    Error {
        /// Why.
        reason: String,
    },
    /// It ran.
    Graded {
        /// Whether the skill fired; always known with the skill.
        triggered: Option<bool>,
        /// What came out.
        outcome: Outcome,
    },
}

/// What a run of a case left behind, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Whether the case asks for more than the firing of the skill.
    pub graded: bool,
    /// Whether it passed; what asks for nothing passes unless the runner says that it failed.
    pub passed: bool,
    /// Everything that does not hold.
    pub failures: Vec<String>,
    /// The grade of the rubric, 0 to 1.
    pub rubric_score: Option<f64>,
    /// The reason for the grade.
    pub rubric_note: Option<String>,
}

/// Judges what a runner says of a case in one arm.
///
/// A verdict of the runner decides over assertions and over its own grade of the rubric; a
/// grade of the built-in grader must pass beside it. Without a verdict every assertion must hold
/// and the rubric must be met. A trigger-only case fails when the runner says so.
pub fn judge(
    case: &ExpandedCase,
    arm: Arm,
    result: Option<&CaseResult>,
    evidence: &Evidence<'_>,
    rubric: &RubricGrade,
) -> ArmResult {
    let error = |reason: &str| ArmResult::Error { reason: reason.to_owned() };
    let Some(result) = result else { return error("the runner gave no result") };
    if result.is_skipped() {
        let reason = result.reason.as_deref().filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or("the runner skipped it and did not say why").to_owned();
        return ArmResult::Skipped { reason };
    }
    if let Some(reason) = result.failure() {
        return error(reason);
    }
    if arm == Arm::With && result.triggered.is_none() {
        return error("the runner did not say whether the skill fired (`triggered`)");
    }
    let outcome = judge_outcome(case, result, evidence, rubric);
    ArmResult::Graded { triggered: result.triggered, outcome }
}

fn judge_outcome(
    case: &ExpandedCase,
    result: &CaseResult,
    evidence: &Evidence<'_>,
    rubric: &RubricGrade,
) -> Outcome {
    let (mut rubric_score, mut rubric_note) =
        (result.rubric_score, result.rubric_rationale.clone());
    let mut broken = match result.passed {
        Some(true) => Vec::new(),
        Some(false) => vec!["the runner's own verdict is that it failed".to_owned()],
        None => failures(&case.assertions, evidence),
    };
    if let Some(criteria) = &case.rubric {
        let mark = criteria.pass_mark();
        match rubric {
            RubricGrade::Runner if result.passed.is_some() => {}
            RubricGrade::Runner => broken.extend(below(rubric_score, mark)),
            RubricGrade::Builtin(grade) => {
                let score = round4(grade.score);
                (rubric_score, rubric_note) = (Some(score), Some(grade.rationale.clone()));
                broken.extend(below(rubric_score, mark));
            }
            RubricGrade::Ungraded(reason) => {
                (rubric_score, rubric_note) = (None, None);
                broken.push(format!("rubric: not graded: {reason}"));
            }
        }
    }
    Outcome {
        graded: !case.is_trigger_only(),
        passed: broken.is_empty(),
        failures: broken,
        rubric_score,
        rubric_note: rubric_note.filter(|note| !note.is_empty()),
    }
}

/// What is wrong with a grade, if anything is.
fn below(score: Option<f64>, mark: f64) -> Option<String> {
    match score {
        Some(score) if score >= mark => None,
        Some(score) => Some(format!("rubric: graded {score}, needs {mark}")),
        None => Some("rubric: the runner gave no grade (`rubric_score`)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proctor_model::eval::{Assertion, Criteria, Rubric};

    use super::super::case::tests::case;
    use super::*;

    fn graded_case() -> ExpandedCase {
        ExpandedCase {
            assertions: vec![Assertion::Contains { value: "eu".to_owned(), path: None }],
            rubric: Some(Rubric { criteria: Criteria::Text("r".to_owned()), min_score: Some(0.8) }),
            ..case("a", true)
        }
    }

    fn fired() -> CaseResult {
        CaseResult { triggered: Some(true), ..CaseResult::default() }
    }

    fn arm(case: &ExpandedCase, arm: Arm, result: &CaseResult, rubric: &RubricGrade) -> ArmResult {
        let commands = BTreeMap::new();
        let evidence =
            Evidence { answer: result.output.as_deref(), files: None, commands: &commands };
        judge(case, arm, Some(result), &evidence, rubric)
    }

    fn outcome(case: &ExpandedCase, result: &CaseResult, rubric: &RubricGrade) -> Outcome {
        match arm(case, Arm::With, result, rubric) {
            ArmResult::Graded { outcome, .. } => outcome,
            other => panic!("{other:?}"),
        }
    }

    fn builtin(score: f64) -> RubricGrade {
        RubricGrade::Builtin(Grade { score, rationale: "because".to_owned() })
    }

    #[test]
    fn what_has_no_result_is_never_a_miss() {
        let case = case("a", true);
        let with = |result: &CaseResult| arm(&case, Arm::With, result, &RubricGrade::Runner);
        let none = Evidence { answer: None, files: None, commands: &BTreeMap::new() };
        let missing = judge(&case, Arm::With, None, &none, &RubricGrade::Runner);
        assert_eq!(missing, ArmResult::Error { reason: "the runner gave no result".to_owned() });
        let untold = with(&CaseResult::default());
        assert!(matches!(untold, ArmResult::Error { reason } if reason.contains("`triggered`")));
        let limited = CaseResult { error: Some("rate limit".to_owned()), ..fired() };
        assert_eq!(with(&limited), ArmResult::Error { reason: "rate limit".to_owned() });
        // Skipping comes first.
        let skipped = CaseResult { skipped: Some(true), ..limited };
        assert!(matches!(with(&skipped), ArmResult::Skipped { .. }));
        // Without the skill there is nothing to fire.
        let without = arm(&case, Arm::Without, &CaseResult::default(), &RubricGrade::Runner);
        assert!(matches!(without, ArmResult::Graded { triggered: None, .. }));
    }

    #[test]
    fn assertions_and_rubric_must_both_hold() {
        let case = graded_case();
        for (output, score, failures) in [
            ("eu", Some(0.8), vec![]),
            ("eu", Some(0.79), vec!["rubric: graded 0.79, needs 0.8"]),
            ("eu", None, vec!["rubric: the runner gave no grade (`rubric_score`)"]),
            ("us", Some(1.0), vec!["contains: the answer does not contain `eu`; it begins `us`"]),
        ] {
            let result =
                CaseResult { output: Some(output.to_owned()), rubric_score: score, ..fired() };
            let outcome = outcome(&case, &result, &RubricGrade::Runner);
            assert_eq!(outcome.failures, failures);
            assert_eq!(outcome.passed, failures.is_empty());
            assert!(outcome.graded);
        }
    }

    #[test]
    fn a_verdict_of_the_runner_wins_over_local_grading() {
        let case = graded_case();
        let result =
            |passed| CaseResult { passed: Some(passed), output: Some("us".to_owned()), ..fired() };
        assert!(outcome(&case, &result(true), &RubricGrade::Runner).passed);
        let right = CaseResult { output: Some("eu".to_owned()), ..result(false) };
        assert!(!outcome(&case, &right, &builtin(1.0)).passed);
    }

    #[test]
    fn the_built_in_grade_stands_beside_the_verdict() {
        let case = graded_case();
        let result = CaseResult {
            passed: Some(true),
            rubric_score: Some(1.0),
            rubric_rationale: Some("mine".to_owned()),
            ..fired()
        };
        let low = outcome(&case, &result, &builtin(0.123_45));
        assert!(!low.passed);
        assert_eq!(low.rubric_score, Some(0.1235));
        assert_eq!(low.rubric_note.as_deref(), Some("because"));
        assert!(outcome(&case, &result, &builtin(0.8)).passed);
        let ungraded = outcome(&case, &result, &RubricGrade::Ungraded("no reply".to_owned()));
        assert_eq!(ungraded.failures, ["rubric: not graded: no reply"]);
        assert_eq!(ungraded.rubric_score, None);
    }

    #[test]
    fn the_built_in_grader_has_no_say_without_a_rubric() {
        let case = ExpandedCase { rubric: None, ..graded_case() };
        let result = CaseResult { output: Some("eu".to_owned()), ..fired() };
        assert!(outcome(&case, &result, &RubricGrade::Ungraded("x".to_owned())).passed);
    }

    #[test]
    fn a_trigger_only_case_fails_when_the_runner_says_so() {
        let case = case("a", true);
        let failed = CaseResult { passed: Some(false), ..fired() };
        let outcome_of = |result| outcome(&case, result, &RubricGrade::Runner);
        assert!(!outcome_of(&failed).passed && !outcome_of(&failed).graded);
        assert!(outcome_of(&fired()).passed);
    }
}
