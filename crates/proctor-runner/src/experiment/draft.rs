//! The record of a trial while it is being written.

use std::time::Instant;

use proctor_grade::recheck::trial_status;
use proctor_model::experiment::Variant;
use proctor_model::run::{
    Coordinates, ExitReason, PhaseName, PhaseRecord, PlannedTrial, TRIAL_VERSION, TestRecord,
    TrialRecord, TrialStatus,
};

use super::examine::skipped;
use super::script::milliseconds;
pub(super) use crate::streams::now;

/// A record in the making.
pub(super) struct Draft {
    pub(super) record: TrialRecord,
    phase: Option<(PhaseName, Instant)>,
}

impl Draft {
    pub(super) fn new(
        run_id: &str,
        experiment: &str,
        trial: &PlannedTrial,
        variant: &Variant,
    ) -> Self {
        let row = variant.row();
        let record = TrialRecord {
            schema_version: TRIAL_VERSION,
            run_id: trial.id.clone(),
            run_group_id: run_id.to_owned(),
            scenario_id: experiment.to_owned(),
            variant_id: trial.variant_id.clone(),
            fingerprint: trial.fingerprint.clone(),
            repeat_idx: trial.repeat_idx,
            coordinates: Coordinates {
                agent: row.agent,
                model: row.model,
                effort: row.effort,
                prompt_id: row.prompt,
                environment: row.environment,
                product: row.product,
                extension_id: row.extension,
            },
            status: TrialStatus::Error,
            exit_reason: ExitReason::NotRun,
            reason: None,
            started_at: now(),
            ended_at: 0,
            phases: Vec::new(),
            outcome: None,
            usage: None,
            tool_calls: 0,
            tool_calls_failed: 0,
            isolation: None,
            checks: Vec::new(),
            tests: Vec::new(),
            graded: Vec::new(),
            warnings: Vec::new(),
        };
        Self { record, phase: None }
    }

    /// A phase begins, and the one before it ends.
    pub(super) fn phase(&mut self, next: Option<PhaseName>) {
        if let Some((phase, since)) = self.phase.take() {
            let duration_ms = milliseconds(since.elapsed());
            self.record.phases.push(PhaseRecord { phase, duration_ms });
        }
        self.phase = next.map(|phase| (phase, Instant::now()));
    }

    /// Ends the record: every test has a result, and the verdict follows from all of it.
    pub(super) fn finish(mut self, variant: &Variant) -> TrialRecord {
        self.phase(None);
        let mut record = self.record;
        let why = record.reason.clone().unwrap_or_else(|| record.exit_reason.to_string());
        record.tests = in_order(variant, std::mem::take(&mut record.tests), &why);
        record.status = trial_status(record.exit_reason, &record.tests);
        record.ended_at = now();
        record
    }
}

/// The results in the order of the file; a test that was not reached is skipped.
fn in_order(variant: &Variant, mut done: Vec<TestRecord>, why: &str) -> Vec<TestRecord> {
    let one = |test: &proctor_model::experiment::Test| {
        let place = done.iter().position(|record| record.name == test.name.as_str());
        match place {
            Some(place) => done.swap_remove(place),
            None => skipped(test, &format!("not reached: {why}")),
        }
    };
    variant.tests.iter().map(one).collect()
}
