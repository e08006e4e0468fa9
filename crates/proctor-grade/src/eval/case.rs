//! The report of one case from its arms.

use proctor_model::eval::{CaseReport, CaseStatus, ExpandedCase};

use super::outcome::ArmResult;
use super::round::round4;

/// What a case used, over all its results.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CaseUsage {
    /// US dollars.
    pub cost_usd: f64,
    /// Tokens in and out.
    pub tokens: u64,
}

/// Puts the arms of a case together. `without` is `None` when the case was not run without the
/// skill.
pub fn case_report(
    case: &ExpandedCase,
    with: &ArmResult,
    without: Option<&ArmResult>,
    usage: CaseUsage,
) -> CaseReport {
    let mut report = CaseReport {
        case: case.id.clone(),
        expect_trigger: case.expect_trigger,
        near_miss: case.near_miss_of.is_some(),
        status: CaseStatus::Error,
        triggered: None,
        fired: Vec::new(),
        outcome_graded: false,
        outcome_passed: None,
        without_passed: None,
        rubric_score: None,
        rubric_note: None,
        cost_usd: round4(usage.cost_usd),
        tokens: usage.tokens,
        failures: Vec::new(),
        reason: None,
    };
    match with {
        ArmResult::Skipped { reason } => {
            report.status = CaseStatus::Skipped;
            report.reason = Some(reason.clone());
        }
        ArmResult::Error { reason } => report.reason = Some(reason.clone()),
        ArmResult::Graded { triggered, outcome } => {
            let as_expected = *triggered == Some(case.expect_trigger);
            if !as_expected {
                report.failures.push(wrong_firing(case.expect_trigger).to_owned());
            }
            report.failures.extend(outcome.failures.iter().cloned());
            let passed = as_expected && outcome.passed;
            report.status = if passed { CaseStatus::Passed } else { CaseStatus::Failed };
            report.triggered = *triggered;
            report.outcome_graded = outcome.graded;
            report.outcome_passed = outcome.graded.then_some(outcome.passed);
            report.rubric_score = outcome.rubric_score;
            report.rubric_note.clone_from(&outcome.rubric_note);
        }
    }
    match without {
        Some(ArmResult::Graded { outcome, .. }) => {
            report.without_passed = outcome.graded.then_some(outcome.passed);
        }
        Some(ArmResult::Error { reason } | ArmResult::Skipped { reason })
            if report.outcome_graded =>
        {
            report.reason = Some(format!("not compared with a run without the skill: {reason}"));
        }
        _ => {}
    }
    report
}

fn wrong_firing(expected: bool) -> &'static str {
    if expected { "did not fire" } else { "fired but must stay quiet" }
}

#[cfg(test)]
pub(super) mod tests {
    use proctor_model::Location;
    use proctor_model::eval::{Assertion, Place};

    use super::super::outcome::Outcome;
    use super::*;

    /// A trigger-only case.
    pub(in super::super) fn case(id: &str, expect_trigger: bool) -> ExpandedCase {
        ExpandedCase {
            id: id.to_owned(),
            description: None,
            prompt: "p".to_owned(),
            expect_trigger,
            files: Vec::new(),
            assertions: Vec::new(),
            rubric: None,
            model: None,
            tags: Vec::new(),
            near_miss_of: None,
            place: Place { file: "f".into(), location: Location { line: 1, column: 1 } },
        }
    }

    pub(in super::super) fn arm(triggered: Option<bool>, graded: bool, passed: bool) -> ArmResult {
        let failures = if passed { Vec::new() } else { vec!["broken".to_owned()] };
        let outcome = Outcome {
            graded,
            passed,
            failures,
            checked: Vec::new(),
            rubric_score: None,
            rubric_note: None,
        };
        ArmResult::Graded { triggered, outcome }
    }

    fn error(reason: &str) -> ArmResult {
        ArmResult::Error { reason: reason.to_owned() }
    }

    fn report(expect: bool, with: &ArmResult, without: Option<&ArmResult>) -> CaseReport {
        case_report(&case("a", expect), with, without, CaseUsage::default())
    }

    #[test]
    fn firing_and_outcome_must_both_be_right() {
        for (expect, fired, passed, status, failures) in [
            (true, true, true, CaseStatus::Passed, vec![]),
            (true, false, true, CaseStatus::Failed, vec!["did not fire"]),
            (true, false, false, CaseStatus::Failed, vec!["did not fire", "broken"]),
            (false, true, true, CaseStatus::Failed, vec!["fired but must stay quiet"]),
            (false, false, true, CaseStatus::Passed, vec![]),
            (true, true, false, CaseStatus::Failed, vec!["broken"]),
        ] {
            let report = report(expect, &arm(Some(fired), true, passed), None);
            assert_eq!(
                (report.status, report.failures),
                (status, failures.into_iter().map(str::to_owned).collect())
            );
            assert_eq!(report.outcome_passed, Some(passed));
            assert_eq!(report.triggered, Some(fired));
        }
    }

    #[test]
    fn errors_and_skips_have_a_reason_and_no_verdict() {
        let with = error("rate limit");
        let failed = report(true, &with, Some(&arm(None, true, true)));
        assert_eq!(failed.status, CaseStatus::Error);
        assert_eq!(failed.reason.as_deref(), Some("rate limit"));
        assert_eq!((failed.triggered, failed.outcome_graded), (None, false));
        let with = ArmResult::Skipped { reason: "no files".to_owned() };
        let skipped = report(true, &with, Some(&error("late")));
        assert_eq!(skipped.status, CaseStatus::Skipped);
        assert_eq!(skipped.reason.as_deref(), Some("no files"));
    }

    #[test]
    fn a_broken_control_gives_no_figure_and_says_why() {
        let with = arm(Some(true), true, true);
        let compared = report(true, &with, Some(&arm(None, true, false)));
        assert_eq!((compared.without_passed, compared.reason), (Some(false), None));
        let broken = report(true, &with, Some(&error("it read the skill")));
        assert_eq!(broken.status, CaseStatus::Passed);
        assert_eq!(broken.without_passed, None);
        assert_eq!(
            broken.reason.as_deref(),
            Some("not compared with a run without the skill: it read the skill")
        );
        let trigger_only = report(true, &arm(Some(true), false, true), Some(&error("x")));
        assert_eq!((trigger_only.outcome_passed, trigger_only.reason), (None, None));
    }

    #[test]
    fn usage_and_kind_are_carried() {
        let near_miss = ExpandedCase {
            near_miss_of: Some("a".to_owned()),
            assertions: vec![Assertion::Contains { value: "x".to_owned(), path: None }],
            ..case("a.near-miss-1", false)
        };
        let usage = CaseUsage { cost_usd: 0.031 + 0.012, tokens: 5610 };
        let report = case_report(&near_miss, &arm(Some(false), true, true), None, usage);
        assert!(report.near_miss);
        assert_eq!((report.cost_usd, report.tokens), (0.043, 5610));
    }
}
