//! The majority of a case's repeated runs.

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
