//! Keeping results: each one as soon as its skill is finished.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use camino::Utf8Path;
use proctor_grade::eval::{Spend, estimate_record};
use proctor_model::eval::{
    Estimate, EstimateParams, EstimateRecord, Score, SkillRecord, SkillReport, SkillStatus,
};
use proctor_runner::eval::SkillRun;
use proctor_store::eval::{Key, ResultsError, after_run, update};

use super::Prepared;
use super::args::Args;
use super::plan::Planned;
use crate::context::Context;
use crate::error::CommandError;

/// Writes records.
pub(super) struct Keeper<'a> {
    /// The results file; `None` when it stays as it is.
    file: Option<&'a Utf8Path>,
    key: Option<&'a Key>,
    params: EstimateParams,
    /// What a run of each skill records, but for the score.
    fresh: BTreeMap<String, SkillRecord>,
    failure: Option<ResultsError>,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(
        args: &Args,
        prepared: &'a Prepared,
        plan: &[Planned],
        context: &Context,
    ) -> Self {
        if !args.tags.is_empty() && !args.no_write {
            context
                .printer
                .note("with `--tag` no result is kept: it would be of a part of the cases");
        }
        let fresh = plan.iter().map(|planned| (planned.fresh.id.clone(), planned.fresh.clone()));
        Self {
            file: args.keeps().then_some(prepared.base.file.as_path()),
            key: prepared.base.key.as_ref(),
            params: prepared.base.settings.estimate.params(),
            fresh: fresh.collect(),
            failure: None,
        }
    }

    /// Why results could not be kept.
    pub(super) fn failure(&self) -> Option<&ResultsError> {
        self.failure.as_ref()
    }

    /// Writes what replays change in their records, all at once.
    pub(super) fn replay(&self, plan: &[Planned]) -> Result<(), CommandError> {
        let amended: Vec<&SkillRecord> =
            plan.iter().filter_map(|planned| planned.amended.as_ref()).collect();
        let (Some(file), Some(key), false) = (self.file, self.key, amended.is_empty()) else {
            return Ok(());
        };
        let updated = update(file, Some(key), |results| {
            for record in amended {
                // One that another run replaced meanwhile is left to that run.
                let same = results
                    .get(&record.id)
                    .is_some_and(|stored| stored.record().cache_key == record.cache_key);
                if same {
                    results.amend(record.clone(), key);
                }
            }
        });
        updated.map(|_| ()).map_err(CommandError::usage)
    }

    /// Writes the record of a skill that ran, when its score says something about the skill.
    pub(super) fn keep(&mut self, run: &SkillRun) -> ControlFlow<()> {
        let (Some(file), Some(score)) = (self.file, run.kept) else {
            return ControlFlow::Continue(());
        };
        let Some(fresh) = self.fresh.get(&run.report.id) else {
            return ControlFlow::Continue(());
        };
        let record = SkillRecord {
            passing: run.report.passing,
            score,
            estimate: self.estimate(run.report.estimate, &score),
            ..fresh.clone()
        };
        let updated = update(file, self.key, |results| {
            let record = after_run(results.get(&record.id), record);
            results.put(record, self.key);
        });
        match updated {
            Ok(_) => ControlFlow::Continue(()),
            Err(failure) => {
                // To go on would be to pay for results that get lost.
                self.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    /// The report of a run with its estimate beside what it cost.
    pub(super) fn with_estimate(&self, run: SkillRun) -> SkillReport {
        let SkillRun { mut report, kept } = run;
        if report.status == SkillStatus::Ran
            && let Some(score) = kept.or(report.score)
        {
            report.estimate_vs_actual = self.estimate(report.estimate, &score);
        }
        report
    }

    fn estimate(&self, estimate: Option<Estimate>, score: &Score) -> Option<EstimateRecord> {
        let spent = Spend {
            input_tokens: score.run_input_tokens,
            output_tokens: score.run_output_tokens,
            cost_usd: score.cost_usd,
            ..Spend::default()
        };
        Some(estimate_record(&estimate?, &self.params, &spent))
    }
}
