//! Verdicts of kept trials, worked out once more from what is kept of them.

use proctor_model::conformance::report::CheckRow;
use proctor_model::event::ToolStatus;
use proctor_model::run::{
    ExitReason, GradedCheck, GradedStatus, Problem, RunKind, TestRecord, TestStatus, TrialRecord,
    TrialStatus,
};
use proctor_model::{CheckStatus, Event, EventKind, OutcomeClass, Usage};

use crate::checks::verdict;

/// What a trial of an experiment comes to. Only an agent whose turn ended can pass or fail; a test
/// that could not be run proves nothing either way, and neither does a trial without any.
pub fn trial_status(exit_reason: ExitReason, tests: &[TestRecord]) -> TrialStatus {
    let any = |status: TestStatus| tests.iter().any(|test| test.status == status);
    if !exit_reason.is_end_of_turn()
        || tests.is_empty()
        || any(TestStatus::Error)
        || any(TestStatus::Skipped)
    {
        TrialStatus::Error
    } else if any(TestStatus::Failed) || any(TestStatus::EvidenceError) {
        TrialStatus::Fail
    } else {
        TrialStatus::Pass
    }
}

/// The kind of a check that another tool graded: the record has its grade and nothing that led to it.
pub const SCORE: &str = "score";

/// What an imported session comes to by the grades of the tool that it is from. One that nobody has
/// graded proves nothing.
pub fn imported_status(exit_reason: ExitReason, graded: &[GradedCheck]) -> TrialStatus {
    let any = |status| graded.iter().any(|check| check.status == status);
    match (exit_reason.is_end_of_turn(), any(GradedStatus::Failed), any(GradedStatus::Passed)) {
        (true, true, _) => TrialStatus::Fail,
        (true, false, true) => TrialStatus::Pass,
        _ => TrialStatus::Error,
    }
}

/// What the events of a session add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EventTally {
    calls: u64,
    failed: u64,
    usage: Option<Usage>,
}

impl EventTally {
    /// Counts one more event.
    pub fn add(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolCall { .. } => self.calls += 1,
            EventKind::ToolResult { status: ToolStatus::Error | ToolStatus::Denied, .. } => {
                self.failed += 1;
            }
            EventKind::Usage { usage } => {
                self.usage = Some(self.usage.unwrap_or_default().plus(*usage));
            }
            _ => {}
        }
    }
}

/// What the record of a trial says and its evidence does not. `events` are all of its events, or
/// `None` when none were kept.
pub fn recheck(kind: RunKind, record: &TrialRecord, events: Option<&EventTally>) -> Vec<Problem> {
    let mut found = Findings(Vec::new());
    for (index, test) in record.tests.iter().enumerate() {
        found.test(index, test);
    }
    found.status(kind, record);
    if let Some(tally) = events {
        found.differ("tool_calls", &record.tool_calls, &tally.calls);
        found.differ("tool_calls_failed", &record.tool_calls_failed, &tally.failed);
        if let (Some(kept), Some(derived)) = (record.usage, tally.usage) {
            found.usage(&kept, &derived);
        }
    }
    found.0
}

/// The record of a trial.
const RECORD: &str = "run.json";

struct Findings(Vec<Problem>);

impl Findings {
    fn differ<T: PartialEq + ToString>(&mut self, field: &str, kept: &T, derived: &T) {
        if kept != derived {
            self.0.push(Problem::differs(RECORD, field, kept, derived));
        }
    }

    /// A test that exited came to what its exit code says.
    fn test(&mut self, index: usize, test: &TestRecord) {
        let derived = match (test.exit_code, test.evidence_errors.is_empty()) {
            // It never ran, or its files were in the way: nothing says which but the record.
            (None, _) if test.status != TestStatus::Passed => return,
            (_, _) if test.status == TestStatus::Error => return,
            (None, _) => TestStatus::Error,
            (Some(0), _) => TestStatus::Passed,
            (Some(_), true) => TestStatus::Failed,
            (Some(_), false) => TestStatus::EvidenceError,
        };
        self.differ(&format!("tests[{index}].status ({})", test.name), &test.status, &derived);
    }

    fn status(&mut self, kind: RunKind, record: &TrialRecord) {
        let possible: Vec<TrialStatus> = match kind {
            RunKind::Conformance => conformance(record),
            RunKind::SkillEval => vec![skill_eval(record)],
            RunKind::Imported if record.tests.is_empty() => {
                // The verdict of a run of Proctor came from more than the record tells.
                if record.graded.is_empty() || record.graded.iter().any(|one| one.kind != SCORE) {
                    return;
                }
                vec![imported_status(record.exit_reason, &record.graded)]
            }
            RunKind::Experiment | RunKind::Imported => {
                vec![trial_status(record.exit_reason, &record.tests)]
            }
        };
        if !possible.contains(&record.status) {
            let words: Vec<&str> = possible.iter().map(|status| status.as_str()).collect();
            let derived = words.join(" or ");
            self.differ("status", &record.status.to_string(), &derived);
        }
    }

    /// No fewer tokens than the events have. What a program states at its end may be more: its account
    /// of the whole has what its stretches leave out.
    fn usage(&mut self, kept: &Usage, derived: &Usage) {
        for (field, kept, derived) in [
            ("input_tokens", kept.input_tokens, derived.input_tokens),
            ("output_tokens", kept.output_tokens, derived.output_tokens),
            ("cache_read_tokens", kept.cache_read_tokens, derived.cache_read_tokens),
            ("cache_write_tokens", kept.cache_write_tokens, derived.cache_write_tokens),
        ] {
            if let (Some(kept), Some(derived)) = (kept, derived)
                && kept < derived
            {
                self.differ(&format!("usage.{field}"), &kept, &derived);
            }
        }
    }
}

/// What a conformance trial can have come to: checks decide once the session completed.
fn conformance(record: &TrialRecord) -> Vec<TrialStatus> {
    use TrialStatus::{Error, Fail, Pass};
    let rows: Vec<CheckRow> = record.graded.iter().map(row).collect();
    let by_checks = match verdict(&rows).status {
        _ if rows.is_empty() => Pass,
        CheckStatus::Passed => Pass,
        CheckStatus::Failed => Fail,
        CheckStatus::Error | CheckStatus::Skipped => Error,
    };
    // Checks that were not reached are skipped; only the time tells why.
    let is_late = record.reason.as_deref().is_some_and(|reason| reason.contains("timed out"));
    match record.outcome.as_ref().map(|outcome| outcome.class) {
        _ if is_late => vec![Fail],
        None if by_checks == Fail => vec![Fail],
        // It never got as far as its agent, or that did not start: the reason alone says why.
        None | Some(OutcomeClass::UsageError) => vec![Error, Fail],
        Some(OutcomeClass::Completed) if by_checks == Pass => vec![Pass],
        // Checks of the phase before may be skipped although the one after failed.
        Some(OutcomeClass::Completed) if has_failed(&record.graded) => vec![Fail, Error],
        Some(OutcomeClass::Completed) => vec![by_checks],
        Some(OutcomeClass::Timeout) => vec![Fail],
        Some(class) if class.is_infrastructure() => vec![Error],
        // A program that said nothing at all is skipped, whatever that is called.
        Some(_) => vec![Fail, Error],
    }
}

fn has_failed(graded: &[GradedCheck]) -> bool {
    graded.iter().any(|check| !check.optional && check.status == GradedStatus::Failed)
}

fn row(check: &GradedCheck) -> CheckRow {
    CheckRow {
        index: 0,
        kind: check.kind.clone(),
        phase: proctor_model::conformance::fixture::Phase::Result,
        optional: check.optional,
        status: match check.status {
            GradedStatus::Passed => CheckStatus::Passed,
            GradedStatus::Failed => CheckStatus::Failed,
            GradedStatus::Error | GradedStatus::Unknown => CheckStatus::Error,
            GradedStatus::Skipped => CheckStatus::Skipped,
        },
        message: String::new(),
        files: None,
        output: None,
    }
}

/// What a session of a skill eval came to: everything that was graded must hold.
fn skill_eval(record: &TrialRecord) -> TrialStatus {
    let any = |status| record.graded.iter().any(|check| check.status == status);
    let is_complete =
        record.outcome.as_ref().is_some_and(|outcome| outcome.class == OutcomeClass::Completed);
    if !is_complete || (record.graded.is_empty() && record.reason.is_some()) {
        TrialStatus::Error
    } else if any(GradedStatus::Failed) {
        TrialStatus::Fail
    } else if any(GradedStatus::Unknown) || any(GradedStatus::Error) {
        TrialStatus::Error
    } else {
        TrialStatus::Pass
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::Outcome;
    use proctor_model::run::{Coordinates, TRIAL_VERSION};

    use super::*;

    fn tests(statuses: &[TestStatus]) -> Vec<TestRecord> {
        statuses.iter().map(|status| test(*status, None)).collect()
    }

    fn test(status: TestStatus, exit_code: Option<i32>) -> TestRecord {
        TestRecord {
            name: "t".to_owned(),
            status,
            exit_code,
            duration_ms: 0,
            reason: None,
            timed_out: false,
            evidence_truncated: false,
            evidence_errors: Vec::new(),
            stdout_tail: String::new(),
            stderr_tail: String::new(),
        }
    }

    fn record(status: TrialStatus, class: Option<OutcomeClass>) -> TrialRecord {
        TrialRecord {
            schema_version: TRIAL_VERSION,
            run_id: String::new(),
            run_group_id: String::new(),
            scenario_id: String::new(),
            variant_id: String::new(),
            fingerprint: String::new(),
            repeat_idx: 0,
            coordinates: Coordinates::default(),
            status,
            exit_reason: ExitReason::EndTurn,
            reason: None,
            started_at: 0,
            ended_at: 0,
            phases: Vec::new(),
            outcome: class.map(|class| Outcome::new(class, "")),
            usage: None,
            tool_calls: 0,
            tool_calls_failed: 0,
            isolation: None,
            checks: Vec::new(),
            tests: Vec::new(),
            graded: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn check(status: GradedStatus) -> GradedCheck {
        GradedCheck {
            name: "c".to_owned(),
            kind: "k".to_owned(),
            status,
            optional: false,
            reason: None,
            excerpt: None,
        }
    }

    #[test]
    fn only_an_agent_that_ended_its_turn_passes_or_fails() {
        use TestStatus::{Error, EvidenceError, Failed, Passed, Skipped};
        for (exit_reason, statuses, expected) in [
            (ExitReason::EndTurn, &[Passed, Passed][..], TrialStatus::Pass),
            (ExitReason::EndTurn, &[Passed, Failed], TrialStatus::Fail),
            (ExitReason::EndTurn, &[Passed, EvidenceError], TrialStatus::Fail),
            (ExitReason::EndTurn, &[Passed, Error], TrialStatus::Error),
            (ExitReason::EndTurn, &[Failed, Skipped], TrialStatus::Error),
            (ExitReason::EndTurn, &[], TrialStatus::Error),
            (ExitReason::Refusal, &[Failed], TrialStatus::Fail),
            (ExitReason::Timeout, &[Passed], TrialStatus::Error),
            (ExitReason::DriverError, &[Passed], TrialStatus::Error),
            (ExitReason::NotRun, &[Passed], TrialStatus::Pass),
        ] {
            let status = trial_status(exit_reason, &tests(statuses));
            assert_eq!(status, expected, "{exit_reason} {statuses:?}");
        }
    }

    #[test]
    fn an_imported_session_is_what_its_scores_say() {
        use GradedStatus::{Failed, Passed, Unknown};
        let scored = |statuses: &[GradedStatus]| -> Vec<GradedCheck> {
            let one =
                |status: &GradedStatus| GradedCheck { kind: SCORE.to_owned(), ..check(*status) };
            statuses.iter().map(one).collect()
        };
        for (exit_reason, statuses, expected) in [
            (ExitReason::EndTurn, &[Passed, Unknown][..], TrialStatus::Pass),
            (ExitReason::EndTurn, &[Passed, Failed], TrialStatus::Fail),
            (ExitReason::EndTurn, &[Unknown], TrialStatus::Error),
            (ExitReason::Timeout, &[Passed], TrialStatus::Error),
        ] {
            let mut trial = record(TrialStatus::Pass, None);
            (trial.exit_reason, trial.graded) = (exit_reason, scored(statuses));
            assert_eq!(imported_status(exit_reason, &trial.graded), expected);
            let found = recheck(RunKind::Imported, &trial, None);
            assert_eq!(found.is_empty(), expected == TrialStatus::Pass, "{found:?}");
        }
        // Graded by Proctor elsewhere, or not at all.
        let mut trial = record(TrialStatus::Pass, None);
        assert_eq!(recheck(RunKind::Imported, &trial, None), []);
        trial.graded = vec![check(Failed)];
        assert_eq!(recheck(RunKind::Imported, &trial, None), []);
    }

    #[test]
    fn a_test_that_exited_with_a_failure_did_not_pass() {
        let mut trial = record(TrialStatus::Pass, None);
        trial.tests = vec![test(TestStatus::Passed, Some(3)), test(TestStatus::Passed, Some(0))];
        let found = recheck(RunKind::Experiment, &trial, None);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0], Problem::differs(RECORD, "tests[0].status (t)", &"passed", &"failed"));
        trial.tests = vec![test(TestStatus::Failed, Some(3))];
        let found = recheck(RunKind::Experiment, &trial, None);
        assert_eq!(found, [Problem::differs(RECORD, "status", &"pass", &"fail")]);
        trial.status = TrialStatus::Fail;
        assert_eq!(recheck(RunKind::Experiment, &trial, None), []);
    }

    #[test]
    fn counts_and_tokens_are_those_of_the_events() {
        let mut tally = EventTally::default();
        let event = |kind| Event { seq: 0, line: 1, parent: None, ts_ms: None, kind };
        let usage = |tokens| Usage { output_tokens: Some(tokens), ..Usage::default() };
        tally.add(&event(EventKind::Usage { usage: usage(2) }));
        tally.add(&event(EventKind::Usage { usage: usage(3) }));
        let mut trial = record(TrialStatus::Error, None);
        trial.usage = Some(usage(5));
        assert_eq!(recheck(RunKind::Experiment, &trial, Some(&tally)), []);
        trial.usage = Some(usage(4));
        trial.tool_calls = 1;
        let found = recheck(RunKind::Experiment, &trial, Some(&tally));
        let fields: Vec<&str> = found.iter().filter_map(|one| one.field.as_deref()).collect();
        assert_eq!(fields, ["tool_calls", "usage.output_tokens"]);
    }

    #[test]
    fn a_pass_needs_a_session_that_completed_and_checks_that_hold() {
        use OutcomeClass::{ApiError, Completed, Timeout};
        for kind in [RunKind::Conformance, RunKind::SkillEval] {
            let mut trial = record(TrialStatus::Pass, Some(Completed));
            trial.graded = vec![check(GradedStatus::Passed)];
            assert_eq!(recheck(kind, &trial, None), [], "{kind}");
            for (class, status) in [
                (Some(Completed), GradedStatus::Failed),
                (Some(Completed), GradedStatus::Unknown),
                (Some(ApiError), GradedStatus::Passed),
                (Some(Timeout), GradedStatus::Passed),
                (None, GradedStatus::Passed),
            ] {
                let mut trial = record(TrialStatus::Pass, class);
                trial.graded = vec![check(status)];
                assert_eq!(recheck(kind, &trial, None).len(), 1, "{kind} {class:?} {status}");
            }
        }
        let mut optional = record(TrialStatus::Pass, Some(Completed));
        optional.graded = vec![GradedCheck { optional: true, ..check(GradedStatus::Failed) }];
        assert_eq!(recheck(RunKind::Conformance, &optional, None), []);
    }
}
