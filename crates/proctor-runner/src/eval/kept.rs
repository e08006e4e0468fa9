//! Sessions of skill evals as trials of a run.

use proctor_grade::eval::{ArmResult, Outcome};
use proctor_model::eval::{Assertion, ExpandedCase};
use proctor_model::run::{
    Coordinates, GradedCheck, GradedStatus, PlannedTrial, TrialRecord, TrialStatus,
};

use super::runner::Call;
use crate::archive::{Conclusion, SessionKey};

/// A session that is kept and of which a part of the verdict is still to come.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The trial.
    pub trial: PlannedTrial,
    /// Its record so far.
    pub record: TrialRecord,
}

/// What tells a session from the others of its run. `environment` is the arm; `run` counts from 1.
pub(super) fn session_key(
    call: &Call<'_>,
    agent: &str,
    case: &ExpandedCase,
    environment: &str,
    run: u32,
) -> SessionKey {
    let model = case.model.as_deref().or(call.model);
    SessionKey {
        coordinates: Coordinates {
            agent: agent.to_owned(),
            model: model.map(str::to_owned),
            prompt_id: format!("{}/{}", call.skill, case.id),
            environment: Some(environment.to_owned()),
            ..Coordinates::default()
        },
        repeat_idx: run.saturating_sub(1),
        fingerprint: call.digest.to_owned(),
    }
}

/// What a session came to. `is_rubric_open` says that somebody grades its rubric afterwards.
pub(super) fn conclusion(
    case: &ExpandedCase,
    judged: &ArmResult,
    is_rubric_open: bool,
) -> Conclusion {
    let (status, reason, graded) = verdict(case, judged, is_rubric_open);
    Conclusion { status: Some(status), reason, graded, ..Conclusion::default() }
}

/// The record of a session after its rubric was graded.
pub(super) fn amended(
    record: &TrialRecord,
    case: &ExpandedCase,
    judged: &ArmResult,
) -> TrialRecord {
    let (status, reason, graded) = verdict(case, judged, false);
    TrialRecord { status, reason, graded, ..record.clone() }
}

/// A session passes when the skill fired exactly if it was to, and when everything that the case asks
/// for holds. What nobody has graded yet is no verdict.
fn verdict(
    case: &ExpandedCase,
    judged: &ArmResult,
    is_rubric_open: bool,
) -> (TrialStatus, Option<String>, Vec<GradedCheck>) {
    let (triggered, outcome) = match judged {
        ArmResult::Error { reason } => return (TrialStatus::Error, Some(reason.clone()), vec![]),
        ArmResult::Skipped { reason } => {
            return (TrialStatus::Error, Some(format!("skipped: {reason}")), vec![]);
        }
        ArmResult::Graded { triggered, outcome } => (*triggered, outcome),
    };
    let mut graded = Vec::new();
    graded.extend(triggered.map(|fired| trigger(case.expect_trigger, fired)));
    graded.extend(assertions(case, outcome));
    graded.extend(rubric(case, outcome, is_rubric_open));
    let any = |status| graded.iter().any(|check: &GradedCheck| check.status == status);
    let status = if any(GradedStatus::Failed) || !outcome.passed {
        TrialStatus::Fail
    } else if any(GradedStatus::Unknown) || any(GradedStatus::Error) {
        TrialStatus::Error
    } else {
        TrialStatus::Pass
    };
    let reason = match status {
        TrialStatus::Pass => None,
        TrialStatus::Fail if outcome.failures.is_empty() => None,
        TrialStatus::Fail => Some(outcome.failures.join("; ")),
        TrialStatus::Error => Some("its rubric has no grade".to_owned()),
    };
    (status, reason, graded)
}

/// Whether the skill did what it was expected to.
pub(super) fn trigger(expected: bool, fired: bool) -> GradedCheck {
    let reason = match (expected, fired) {
        (true, false) => Some("the skill did not fire"),
        (false, true) => Some("the skill fired, and should not have"),
        (true, true) | (false, false) => None,
    };
    check("triggered".to_owned(), "trigger", reason.map(str::to_owned))
}

/// The assertions of the case that were looked at.
fn assertions(case: &ExpandedCase, outcome: &Outcome) -> Vec<GradedCheck> {
    let rows = case.assertions.iter().zip(&outcome.checked).enumerate();
    let row = |(index, (assertion, broken)): (usize, (&Assertion, &Option<String>))| {
        let kind = assertion.type_name();
        // The reason begins with the type, which the name says already.
        let without_type = |why: &String| {
            let rest = why.strip_prefix(kind).and_then(|rest| rest.strip_prefix(": "));
            rest.unwrap_or(why).to_owned()
        };
        check(format!("{index}: {kind}"), kind, Option::as_ref(broken).map(without_type))
    };
    rows.map(row).collect()
}

fn rubric(case: &ExpandedCase, outcome: &Outcome, is_open: bool) -> Option<GradedCheck> {
    let rubric = case.rubric.as_ref()?;
    let mark = rubric.pass_mark();
    let mut row = check("rubric".to_owned(), "rubric", None);
    if let Some(score) = outcome.rubric_score {
        let is_met = score >= mark;
        row.status = if is_met { GradedStatus::Passed } else { GradedStatus::Failed };
        row.reason = Some(format!("graded {score}, needs {mark}"));
    } else {
        row.status = GradedStatus::Unknown;
        row.reason = Some(if is_open { "not graded yet" } else { "not graded" }.to_owned());
    }
    row.excerpt.clone_from(&outcome.rubric_note);
    Some(row)
}

/// A check that holds, or does not for this reason.
fn check(name: String, kind: &str, broken: Option<String>) -> GradedCheck {
    GradedCheck {
        name,
        kind: kind.to_owned(),
        status: if broken.is_none() { GradedStatus::Passed } else { GradedStatus::Failed },
        optional: false,
        reason: broken,
        excerpt: None,
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::diagnostic::Location;
    use proctor_model::eval::{Criteria, Place, Rubric};

    use super::*;

    fn case(rubric: bool) -> ExpandedCase {
        let criteria = Criteria::Text("is good".to_owned());
        ExpandedCase {
            id: "c".to_owned(),
            description: None,
            prompt: "p".to_owned(),
            expect_trigger: true,
            files: Vec::new(),
            assertions: vec![Assertion::FileExists { path: "a".to_owned(), exists: true }],
            rubric: rubric.then_some(Rubric { criteria, min_score: Some(0.8) }),
            model: None,
            tags: Vec::new(),
            near_miss_of: None,
            place: Place { file: "f".into(), location: Location { line: 1, column: 1 } },
        }
    }

    fn judged(fired: bool, broken: Option<&str>, score: Option<f64>) -> ArmResult {
        let outcome = Outcome {
            graded: true,
            passed: broken.is_none() && score.is_none_or(|score| score >= 0.8),
            failures: broken.map(str::to_owned).into_iter().collect(),
            checked: vec![broken.map(str::to_owned)],
            rubric_score: score,
            rubric_note: score.map(|_| "because".to_owned()),
        };
        ArmResult::Graded { triggered: Some(fired), outcome }
    }

    #[test]
    fn a_session_passes_when_all_of_it_holds() {
        let missing = Some("file_exists: `a` is not there");
        for (judged, expected) in [
            (judged(true, None, None), TrialStatus::Pass),
            (judged(false, None, None), TrialStatus::Fail),
            (judged(true, missing, None), TrialStatus::Fail),
            (ArmResult::Error { reason: "late".to_owned() }, TrialStatus::Error),
            (ArmResult::Skipped { reason: "no".to_owned() }, TrialStatus::Error),
        ] {
            let (status, reason, _) = verdict(&case(false), &judged, false);
            assert_eq!(status, expected, "{judged:?}");
            assert_eq!(
                reason.is_some(),
                expected == TrialStatus::Error || judged == self::judged(true, missing, None)
            );
        }
        let (_, _, graded) = verdict(&case(false), &judged(true, missing, None), false);
        assert_eq!(
            (graded[1].name.as_str(), graded[1].reason.as_deref()),
            ("0: file_exists", Some("`a` is not there"))
        );
    }

    #[test]
    fn a_rubric_that_nobody_has_graded_yet_is_no_pass() {
        let (case, open) = (case(true), judged(true, None, None));
        let (status, _, graded) = verdict(&case, &open, true);
        assert_eq!((status, graded[2].status), (TrialStatus::Error, GradedStatus::Unknown));
        for (score, expected) in [(0.9, TrialStatus::Pass), (0.7, TrialStatus::Fail)] {
            let (status, _, graded) = verdict(&case, &judged(true, None, Some(score)), false);
            assert_eq!(status, expected);
            assert_eq!(graded[2].excerpt.as_deref(), Some("because"));
        }
    }
}
