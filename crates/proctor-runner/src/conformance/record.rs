//! Conformance trials as those of a run.

use proctor_model::CheckStatus;
use proctor_model::conformance::fixture::Fixture;
use proctor_model::conformance::report::{CheckRow, TrialResult};
use proctor_model::run::{Coordinates, GradedCheck, TrialStatus};

use super::draft::Ended;
use super::plan::HarnessMode;
use super::run::Settings;
use crate::archive::{Conclusion, SessionKey};

/// What tells the session of a fixture with a harness from the others; `None` when there is none.
pub(super) fn session_key(
    settings: &Settings<'_>,
    fixture: &Fixture,
    harness: &str,
) -> Option<SessionKey> {
    let has_sessions = settings.harness_mode == HarnessMode::Run;
    let is_known = proctor_harness::find(harness).is_some();
    (has_sessions && is_known).then(|| SessionKey {
        coordinates: Coordinates {
            agent: harness.to_owned(),
            prompt_id: fixture.name.clone(),
            ..Coordinates::default()
        },
        repeat_idx: 0,
        fingerprint: String::new(),
    })
}

/// What a trial came to. One that was skipped says nothing about the agent.
pub(super) fn conclusion(ended: &Ended) -> Conclusion {
    let TrialResult { status, reason, checks, outcome, usage, .. } = &ended.result;
    let skipped = |reason: &String| format!("skipped: {reason}");
    Conclusion {
        status: Some(match status {
            CheckStatus::Passed => TrialStatus::Pass,
            CheckStatus::Failed => TrialStatus::Fail,
            CheckStatus::Error | CheckStatus::Skipped => TrialStatus::Error,
        }),
        reason: match status {
            CheckStatus::Skipped => reason.as_ref().map(skipped),
            _ => reason.clone(),
        },
        outcome: outcome.clone(),
        usage: *usage,
        graded: checks.iter().map(graded).collect(),
        warnings: ended.notes.clone(),
    }
}

/// A check by its place in the fixture: types come more than once.
fn graded(row: &CheckRow) -> GradedCheck {
    GradedCheck {
        name: format!("{}: {} ({} phase)", row.index, row.kind, row.phase.as_str()),
        kind: row.kind.clone(),
        status: row.status.into(),
        optional: row.optional,
        reason: Some(row.message.clone()).filter(|message| !message.is_empty()),
        excerpt: None,
    }
}
