//! A result while it is being made: every declared check stands in it from the start, so that none
//! can get lost on the way.

use std::time::Duration;

use proctor_harness::Adapter;
use proctor_model::conformance::fixture::{Fixture, Phase};
use proctor_model::conformance::report::{
    Bounds, CheckRow, LoadStatus, ObservedLoad, ResultPhase, Selection, TrialResult, Unknown,
};
use proctor_model::{Bound, CheckStatus, Diagnostics};

use super::plan::HarnessMode;
use super::run::Settings;

/// The timeout of a fixture that names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// The message of a check that was never reached; replaced by the reason when there is one.
const NOT_RUN: &str = "not run";

/// A result in the making.
pub(super) struct Draft {
    result: TrialResult,
    timeout: Duration,
    notes: Vec<String>,
}

/// What a trial leaves.
pub(super) struct Ended {
    pub(super) result: TrialResult,
    /// What a reader must know beside the result.
    pub(super) notes: Vec<String>,
}

impl Draft {
    /// A draft with every check of the fixture marked as not run.
    pub(super) fn new(settings: &Settings<'_>, fixture: &Fixture, harness: &str) -> Self {
        let timeout =
            lower(Some(fixture.bounds.timeout.unwrap_or(DEFAULT_TIMEOUT)), settings.timeout)
                .unwrap_or(DEFAULT_TIMEOUT);
        let result = TrialResult {
            fixture: fixture.name.clone(),
            harness: Some(harness.to_owned()),
            status: CheckStatus::Error,
            reason: None,
            result_phase: ResultPhase::NotRun,
            selection: Selection::default(),
            installed_instructions: Vec::new(),
            observed_load: unobserved(fixture),
            checks: rows(fixture),
            bounds: bounds(settings, fixture, harness, timeout),
            user_memory_isolation: Unknown::Unknown,
            outcome: None,
            usage: None,
            transcript: None,
        };
        Self { result, timeout, notes: Vec::new() }
    }

    /// The result of a fixture that cannot be used.
    pub(super) fn invalid(name: &str, diagnostics: &Diagnostics) -> Ended {
        let result = TrialResult {
            fixture: name.to_owned(),
            harness: None,
            status: CheckStatus::Error,
            reason: Some(format!("invalid fixture\n{diagnostics}")),
            result_phase: ResultPhase::NotRun,
            selection: Selection::default(),
            installed_instructions: Vec::new(),
            observed_load: Vec::new(),
            checks: Vec::new(),
            bounds: Bounds {
                timeout_seconds: Bound::not_requested(),
                max_budget_usd: Bound::not_requested(),
                max_turns: Bound::not_requested(),
            },
            user_memory_isolation: Unknown::Unknown,
            outcome: None,
            usage: None,
            transcript: None,
        };
        Ended { result, notes: Vec::new() }
    }

    /// The effective wall clock of the trial.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The effective budget in US dollars.
    pub(super) fn max_budget_usd(&self) -> Option<f64> {
        self.result.bounds.max_budget_usd.value
    }

    /// The result so far.
    pub(super) fn result_mut(&mut self) -> &mut TrialResult {
        &mut self.result
    }

    /// The checks so far.
    pub(super) fn checks(&self) -> &[CheckRow] {
        &self.result.checks
    }

    /// Adds what a reader must know although it decides nothing.
    pub(super) fn note(&mut self, note: &str) {
        let harness = self.result.harness.as_deref().unwrap_or_default();
        self.notes.push(format!("{} ({harness}): {note}", self.result.fixture));
    }

    /// Ends as skipped.
    pub(super) fn skipped(self, reason: &str) -> Ended {
        self.end(CheckStatus::Skipped, Some(reason.to_owned()))
    }

    /// Ends as an error.
    pub(super) fn error(self, reason: &str) -> Ended {
        self.end(CheckStatus::Error, Some(reason.to_owned()))
    }

    /// Ends; checks that were not reached say why.
    pub(super) fn end(mut self, status: CheckStatus, reason: Option<String>) -> Ended {
        let why = match &reason {
            Some(reason) => format!("{NOT_RUN}: {reason}"),
            None => NOT_RUN.to_owned(),
        };
        for row in &mut self.result.checks {
            if row.status == CheckStatus::Skipped && row.message == NOT_RUN {
                row.message.clone_from(&why);
            }
        }
        self.result.status = status;
        self.result.reason = reason;
        Ended { result: self.result, notes: self.notes }
    }

    /// Marks the checks of the result phase as left out on purpose.
    pub(super) fn leave_out_result_phase(&mut self) {
        for row in self.result.checks.iter_mut().filter(|row| row.phase == Phase::Result) {
            "result-phase checks were not run".clone_into(&mut row.message);
        }
    }
}

fn unobserved(fixture: &Fixture) -> Vec<ObservedLoad> {
    let row = |path: &String| ObservedLoad {
        path: path.clone(),
        installed: false,
        status: LoadStatus::Unknown,
    };
    fixture.expected_instruction_paths.iter().map(row).collect()
}

fn rows(fixture: &Fixture) -> Vec<CheckRow> {
    let row = |(index, check): (usize, &proctor_model::conformance::fixture::Check)| CheckRow {
        index,
        kind: check.kind.type_name().to_owned(),
        phase: check.phase,
        optional: check.optional,
        status: CheckStatus::Skipped,
        message: NOT_RUN.to_owned(),
        files: None,
        output: None,
    };
    fixture.checks.iter().enumerate().map(row).collect()
}

fn bounds(settings: &Settings<'_>, fixture: &Fixture, harness: &str, timeout: Duration) -> Bounds {
    let budget = lower(fixture.bounds.max_budget_usd, settings.max_budget_usd);
    let turns = fixture.bounds.max_turns;
    let enforces = proctor_harness::find(harness).map(Adapter::enforces);
    let (max_budget_usd, max_turns) = match settings.harness_mode {
        HarnessMode::InstallOnly => (Bound::not_applicable(budget), Bound::not_applicable(turns)),
        HarnessMode::Run => (
            Bound::requested(budget, enforces.is_some_and(|e| e.budget)),
            Bound::requested(turns, enforces.is_some_and(|e| e.turns)),
        ),
    };
    Bounds {
        timeout_seconds: Bound::requested(Some(timeout.as_secs().max(1)), true),
        max_budget_usd,
        max_turns,
    }
}

/// The lower of a fixture's own bound and the flag; a flag alone stands.
fn lower<T: PartialOrd>(own: Option<T>, flag: Option<T>) -> Option<T> {
    match (own, flag) {
        (Some(own), Some(flag)) => Some(if flag < own { flag } else { own }),
        (own, flag) => own.or(flag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_lowers_and_never_raises() {
        assert_eq!(lower(Some(5), Some(3)), Some(3));
        assert_eq!(lower(Some(5), Some(9)), Some(5));
        assert_eq!(lower(None, Some(9)), Some(9));
        assert_eq!(lower(Some(5), None), Some(5));
        assert_eq!(lower::<u8>(None, None), None);
    }
}
