//! The majority of a case's repeated runs.

use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::Arm;

use super::outcome::{ArmResult, Outcome};
use super::round::{float, round4};

/// One run of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VotedRun {
    /// Why it has no result.
    pub error: Option<String>,
    /// Whether the skill fired.
    pub fired: bool,
    /// Whether every grader but that of the firing passed; `None` without such graders.
    pub passed: Option<bool>,
}

/// What the runs of a case come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vote {
    /// No run has a result.
    Error(String),
    /// More than half of the runs with a result say so; a tie says no.
    Decided {
        /// Whether the skill fired.
        triggered: bool,
        /// Whether the outcome passed; `None` without graders of it.
        passed: Option<bool>,
    },
}

/// Takes the majority of the runs that have a result.
pub fn vote(runs: &[VotedRun]) -> Vote {
    let usable: Vec<&VotedRun> = runs.iter().filter(|run| run.error.is_none()).collect();
    if usable.is_empty() {
        let last = runs.iter().rev().find_map(|run| run.error.clone());
        return Vote::Error(last.unwrap_or_else(|| "there are no runs of the case".to_owned()));
    }
    let most = |holds: &dyn Fn(&VotedRun) -> bool| {
        2 * usable.iter().filter(|run| holds(run)).count() > usable.len()
    };
    let is_graded = usable.iter().any(|run| run.passed.is_some());
    Vote::Decided {
        triggered: most(&|run| run.fired),
        passed: is_graded.then(|| most(&|run| run.passed == Some(true))),
    }
}

/// What the judged runs of a case in one arm come to together.
///
/// The majority decides; of the grades of a rubric the mean is shown, with the reason of the first
/// run that agrees with the majority.
pub fn majority(case: &ExpandedCase, arm: Arm, runs: &[ArmResult]) -> ArmResult {
    let voted: Vec<VotedRun> = runs.iter().map(voice).collect();
    match vote(&voted) {
        Vote::Error(reason) => ArmResult::Error { reason },
        Vote::Decided { triggered, passed } => {
            let passed = passed.unwrap_or(true);
            let outcomes: Vec<&Outcome> = runs.iter().filter_map(outcome_of).collect();
            let scores: Vec<f64> = outcomes.iter().filter_map(|o| o.rubric_score).collect();
            let agreeing = outcomes.iter().find(|outcome| outcome.passed == passed);
            let outcome = Outcome {
                graded: !case.is_trigger_only(),
                passed,
                failures: if passed { Vec::new() } else { counted(&outcomes, runs.len()) },
                checked: Vec::new(),
                rubric_score: (!scores.is_empty())
                    .then(|| round4(scores.iter().sum::<f64>() / float(scores.len() as u64))),
                rubric_note: agreeing.and_then(|outcome| outcome.rubric_note.clone()),
            };
            ArmResult::Graded { triggered: (arm == Arm::With).then_some(triggered), outcome }
        }
    }
}

fn outcome_of(judged: &ArmResult) -> Option<&Outcome> {
    match judged {
        ArmResult::Graded { outcome, .. } => Some(outcome),
        ArmResult::Error { .. } | ArmResult::Skipped { .. } => None,
    }
}

/// The voice of one run.
fn voice(run: &ArmResult) -> VotedRun {
    match run {
        ArmResult::Error { reason } | ArmResult::Skipped { reason } => {
            VotedRun { error: Some(reason.clone()), ..VotedRun::default() }
        }
        ArmResult::Graded { triggered, outcome } => VotedRun {
            error: None,
            fired: *triggered == Some(true),
            passed: outcome.graded.then_some(outcome.passed),
        },
    }
}

/// What did not hold, each once, with the number of runs when there are several.
fn counted(outcomes: &[&Outcome], total: usize) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for failure in outcomes.iter().flat_map(|outcome| &outcome.failures) {
        match counted.iter_mut().find(|(known, _)| known == failure) {
            Some((_, count)) => *count += 1,
            None => counted.push((failure, 1)),
        }
    }
    let message = |(failure, count): (&str, usize)| match total {
        1 => failure.to_owned(),
        _ => format!("{failure} (in {count} of {total} runs)"),
    };
    counted.into_iter().map(message).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::case::tests::{arm, case};
    use super::*;

    #[test]
    fn runs_with_grades_come_to_their_mean() {
        let run = |passed, score, note: &str| match arm(Some(true), true, passed) {
            ArmResult::Graded { triggered, outcome } => ArmResult::Graded {
                triggered,
                outcome: Outcome {
                    rubric_score: Some(score),
                    rubric_note: Some(note.to_owned()),
                    ..outcome
                },
            },
            other => other,
        };
        let error = ArmResult::Error { reason: "outage".to_owned() };
        let runs =
            [run(false, 0.2, "bad"), run(true, 0.8, "good"), error.clone(), run(true, 0.9, "fine")];
        let case = ExpandedCase { rubric: None, ..case("a", true) };
        let ArmResult::Graded { triggered, outcome } = majority(&case, Arm::With, &runs) else {
            panic!("graded");
        };
        assert_eq!((triggered, outcome.passed), (Some(true), true));
        assert_eq!(outcome.rubric_score, Some(0.6333));
        assert_eq!(outcome.rubric_note.as_deref(), Some("good"));
        let ArmResult::Graded { triggered, outcome } = majority(&case, Arm::Without, &runs[..2])
        else {
            panic!("graded");
        };
        assert_eq!((triggered, outcome.passed), (None, false));
        assert_eq!(outcome.failures, ["broken (in 1 of 2 runs)"]);
        assert_eq!(outcome.rubric_note.as_deref(), Some("bad"));
        assert_eq!(majority(&case, Arm::With, std::slice::from_ref(&error)), error);
    }

    fn run(fired: bool, passed: Option<bool>) -> VotedRun {
        VotedRun { error: None, fired, passed }
    }

    fn broken(message: &str) -> VotedRun {
        VotedRun { error: Some(message.to_owned()), fired: true, passed: Some(true) }
    }

    #[test]
    fn ties_fail() {
        let decided = |triggered, passed| Vote::Decided { triggered, passed };
        let (yes, no) = (run(true, Some(true)), run(false, Some(false)));
        assert_eq!(vote(&[yes.clone(), no.clone()]), decided(false, Some(false)));
        assert_eq!(vote(&[yes.clone(), no.clone(), yes.clone()]), decided(true, Some(true)));
        assert_eq!(vote(&[run(true, None)]), decided(true, None));
        // Broken runs have no say.
        assert_eq!(vote(&[yes, broken("x"), broken("y"), no]), decided(false, Some(false)));
    }

    #[test]
    fn without_a_usable_run_the_last_error_stands() {
        assert_eq!(vote(&[broken("first"), broken("last")]), Vote::Error("last".to_owned()));
        assert!(matches!(vote(&[]), Vote::Error(_)));
    }

    proptest! {
        #[test]
        fn the_order_of_runs_changes_nothing(fired in proptest::collection::vec(any::<bool>(), 1..9)) {
            let runs: Vec<VotedRun> = fired.iter().map(|fired| run(*fired, Some(!fired))).collect();
            let reversed: Vec<VotedRun> = runs.iter().rev().cloned().collect();
            prop_assert_eq!(vote(&runs), vote(&reversed));
            let Vote::Decided { triggered, passed } = vote(&runs) else { panic!() };
            // Never both, and neither only in a tie.
            prop_assert!(!(triggered && passed == Some(true)));
            let tie = 2 * fired.iter().filter(|fired| **fired).count() == fired.len();
            prop_assert_eq!(!triggered && passed == Some(false), tie);
        }
    }
}
