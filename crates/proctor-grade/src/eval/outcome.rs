//! What one case came to in one arm.

use proctor_model::eval::protocol::{Arm, CaseResult};
use proctor_model::eval::{ExpandedCase, Rubric};

use super::assertion::{Evidence, answers};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RubricBy {
    /// The runner.
    Runner,
    /// The built-in grader, afterwards: see [`Outcome::grade_rubric`].
    Builtin,
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
    /// For each assertion of the case, in its order, why it does not hold. Empty where nobody looked:
    /// a verdict of the runner stands for all of them.
    pub checked: Vec<Option<String>>,
    /// The grade of the rubric, 0 to 1.
    pub rubric_score: Option<f64>,
    /// The reason for the grade.
    pub rubric_note: Option<String>,
}

impl Outcome {
    /// Puts the grade of the built-in grader, or that it gave none, in the place of the runner's.
    /// The rubric must be met whatever else holds.
    pub fn grade_rubric(&mut self, rubric: &Rubric, grade: Result<Grade, String>) {
        let broken = match grade {
            Ok(Grade { score, rationale }) => {
                let score = round4(score);
                self.rubric_score = Some(score);
                self.rubric_note = Some(rationale).filter(|note| !note.is_empty());
                below(Some(score), rubric.pass_mark())
            }
            Err(reason) => {
                (self.rubric_score, self.rubric_note) = (None, None);
                Some(format!("rubric: not graded: {reason}"))
            }
        };
        self.passed &= broken.is_none();
        self.failures.extend(broken);
    }
}

/// Judges what a runner says of a case in one arm.
///
/// A verdict of the runner decides over assertions and over its own grade of the rubric. Without a
/// verdict every assertion must hold and the rubric must be met, but for one that the built-in
/// grader grades. A trigger-only case fails when the runner says so.
pub fn judge(
    case: &ExpandedCase,
    arm: Arm,
    result: Option<&CaseResult>,
    evidence: &Evidence<'_>,
    rubric: RubricBy,
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
    rubric: RubricBy,
) -> Outcome {
    let checked = match result.passed {
        Some(_) => Vec::new(),
        None => answers(&case.assertions, evidence),
    };
    let mut broken = match result.passed {
        Some(false) => vec!["the runner's own verdict is that it failed".to_owned()],
        Some(true) | None => checked.iter().flatten().cloned().collect(),
    };
    let by_runner = rubric == RubricBy::Runner || case.rubric.is_none();
    let score = result.rubric_score.filter(|_| by_runner);
    let note = result.rubric_rationale.clone().filter(|_| by_runner);
    if let (Some(criteria), true, None) = (&case.rubric, by_runner, result.passed) {
        broken.extend(below(score, criteria.pass_mark()));
    }
    Outcome {
        graded: !case.is_trigger_only(),
        passed: broken.is_empty(),
        failures: broken,
        checked,
        rubric_score: score,
        rubric_note: note.filter(|note| !note.is_empty()),
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

    fn arm(case: &ExpandedCase, arm: Arm, result: &CaseResult, rubric: RubricBy) -> ArmResult {
        let commands = BTreeMap::new();
        let evidence =
            Evidence { answer: result.output.as_deref(), files: None, commands: &commands };
        judge(case, arm, Some(result), &evidence, rubric)
    }

    fn outcome(case: &ExpandedCase, result: &CaseResult, rubric: RubricBy) -> Outcome {
        match arm(case, Arm::With, result, rubric) {
            ArmResult::Graded { outcome, .. } => outcome,
            other => panic!("{other:?}"),
        }
    }

    /// The outcome with a grade of the built-in grader.
    fn graded(case: &ExpandedCase, result: &CaseResult, grade: Result<f64, &str>) -> Outcome {
        let mut outcome = outcome(case, result, RubricBy::Builtin);
        let grade = grade.map(|score| Grade { score, rationale: "because".to_owned() });
        outcome.grade_rubric(case.rubric.as_ref().unwrap(), grade.map_err(str::to_owned));
        outcome
    }

    #[test]
    fn what_has_no_result_is_never_a_miss() {
        let case = case("a", true);
        let with = |result: &CaseResult| arm(&case, Arm::With, result, RubricBy::Runner);
        let none = Evidence { answer: None, files: None, commands: &BTreeMap::new() };
        let missing = judge(&case, Arm::With, None, &none, RubricBy::Runner);
        assert_eq!(missing, ArmResult::Error { reason: "the runner gave no result".to_owned() });
        let untold = with(&CaseResult::default());
        assert!(matches!(untold, ArmResult::Error { reason } if reason.contains("`triggered`")));
        let limited = CaseResult { error: Some("rate limit".to_owned()), ..fired() };
        assert_eq!(with(&limited), ArmResult::Error { reason: "rate limit".to_owned() });
        // Skipping comes first.
        let skipped = CaseResult { skipped: Some(true), ..limited };
        assert!(matches!(with(&skipped), ArmResult::Skipped { .. }));
        // Without the skill there is nothing to fire.
        let without = arm(&case, Arm::Without, &CaseResult::default(), RubricBy::Runner);
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
            let outcome = outcome(&case, &result, RubricBy::Runner);
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
        assert!(outcome(&case, &result(true), RubricBy::Runner).passed);
        let right = CaseResult { output: Some("eu".to_owned()), ..result(false) };
        assert!(!graded(&case, &right, Ok(1.0)).passed);
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
        // What the runner says of the rubric is nothing.
        let open = outcome(&case, &result, RubricBy::Builtin);
        assert!(open.passed && open.rubric_score.is_none() && open.rubric_note.is_none());
        let low = graded(&case, &result, Ok(0.123_45));
        assert!(!low.passed);
        assert_eq!(low.rubric_score, Some(0.1235));
        assert_eq!(low.rubric_note.as_deref(), Some("because"));
        assert!(graded(&case, &result, Ok(0.8)).passed);
        let ungraded = graded(&case, &result, Err("no reply"));
        assert_eq!(ungraded.failures, ["rubric: not graded: no reply"]);
        assert!(!ungraded.passed && ungraded.rubric_score.is_none());
        let broken = CaseResult { passed: None, output: Some("us".to_owned()), ..result };
        assert_eq!(graded(&case, &broken, Ok(0.0)).failures.len(), 2);
        assert!(!graded(&case, &broken, Ok(1.0)).passed);
    }

    #[test]
    fn the_built_in_grader_has_no_say_without_a_rubric() {
        let case = ExpandedCase { rubric: None, ..graded_case() };
        let result =
            CaseResult { output: Some("eu".to_owned()), rubric_score: Some(0.1), ..fired() };
        let outcome = outcome(&case, &result, RubricBy::Builtin);
        assert!(outcome.passed && outcome.rubric_score == Some(0.1));
    }

    #[test]
    fn a_trigger_only_case_fails_when_the_runner_says_so() {
        let case = case("a", true);
        let failed = CaseResult { passed: Some(false), ..fired() };
        let outcome_of = |result| outcome(&case, result, RubricBy::Runner);
        assert!(!outcome_of(&failed).passed && !outcome_of(&failed).graded);
        assert!(outcome_of(&fired()).passed);
    }
}
