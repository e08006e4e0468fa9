//! What is to be done with each skill, before anything runs.

use std::collections::BTreeSet;

use camino::Utf8Path;
use proctor_formats::eval::Inspected;
use proctor_grade::eval::{CaseLoad, Rates, RunPlan, count_tokens, estimate_cases, total};
use proctor_model::eval::{
    Estimate, EstimateParams, ExpandedCase, SkillRecord, SkillReport, SkillStatus,
};
use proctor_runner::eval::{Job, Task};
use proctor_store::eval::{CacheInputs, Lookup, Results, Stored, after_replay, lookup};

/// What holds for every skill.
pub(super) struct Terms<'a> {
    pub(super) results: &'a Results,
    /// The skills that changed; `None` when that does not matter.
    pub(super) changed: Option<&'a BTreeSet<String>>,
    /// The tags of which a case must have one; empty when that does not matter.
    pub(super) tags: &'a [String],
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) threshold: f64,
    pub(super) runner: &'a str,
    pub(super) fingerprint: &'a str,
    pub(super) harness: &'a str,
    /// The model as it is recorded.
    pub(super) model: &'a str,
    pub(super) date: &'a str,
    pub(super) allow_exec: bool,
    /// The built-in grader's name, when it grades.
    pub(super) grader: Option<&'a str>,
    pub(super) runs: RunPlan,
    pub(super) params: EstimateParams,
    pub(super) rates: Rates,
}

/// A skill in the plan.
pub(super) struct Planned {
    pub(super) job: Job,
    /// The record that a run of it makes, but for the score.
    pub(super) fresh: SkillRecord,
    /// What its replay changes in the record.
    pub(super) amended: Option<SkillRecord>,
}

impl Terms<'_> {
    /// Plans one skill.
    pub(super) fn plan(&self, inspected: &Inspected<'_>) -> Planned {
        let id = &inspected.skill.id;
        let mut planned = Planned {
            job: Job { report: SkillReport::new(id, SkillStatus::DryRun), task: None },
            fresh: self.record(id),
            amended: None,
        };
        let report = &mut planned.job.report;
        if self.changed.is_some_and(|changed| !changed.contains(id)) {
            report.status = SkillStatus::SkippedUnchanged;
            return planned;
        }
        if !inspected.loaded.is_valid() {
            report.status = SkillStatus::Invalid;
            report.problems = inspected.loaded.problems();
            return planned;
        }
        let warnings = inspected.loaded.diagnostics.0.iter();
        report.warnings.extend(warnings.map(ToString::to_string));
        let mut cases = inspected.loaded.expanded();
        cases.retain(|case| self.is_selected(case));
        report.case_count = cases.len() as u64;
        if cases.is_empty() {
            report.status = SkillStatus::NoCases;
            return planned;
        }
        if let Err(error) = self.settle(inspected, &mut planned, cases) {
            planned.job.report.status = SkillStatus::Error;
            planned.job.report.error = Some(error);
        }
        planned
    }

    fn is_selected(&self, case: &ExpandedCase) -> bool {
        self.tags.is_empty() || case.tags.iter().any(|tag| self.tags.contains(tag))
    }

    fn record(&self, id: &str) -> SkillRecord {
        SkillRecord {
            id: id.to_owned(),
            runner: self.runner.to_owned(),
            harness: self.harness.to_owned(),
            model: self.model.to_owned(),
            ablation: self.runs.ablation,
            date: self.date.to_owned(),
            ..SkillRecord::default()
        }
    }

    /// Replays the skill, or says what is to be run.
    fn settle(
        &self,
        inspected: &Inspected<'_>,
        planned: &mut Planned,
        cases: Vec<ExpandedCase>,
    ) -> Result<(), String> {
        let Planned { job: Job { report, task }, fresh, amended } = planned;
        let digest = inspected.digest.as_ref().map_err(ToString::to_string)?;
        let cases_digest = inspected.cases_digest.as_ref().map_err(ToString::to_string)?;
        fresh.digest.clone_from(digest);
        fresh.cases_digest.clone_from(cases_digest);
        match &inspected.lock_digest {
            Ok(digest) => fresh.lock_digest.clone_from(digest),
            Err(error) => report.warnings.push(format!("usage logs join by id only: {error}")),
        }
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        report.digest = some(&fresh.digest);
        report.cases_digest = some(&fresh.cases_digest);
        report.lock_digest = some(&fresh.lock_digest);
        fresh.cache_key = self.inputs(fresh).key();
        // A part of the cases is another thing than all of them.
        if !self.force && self.tags.is_empty() {
            match lookup(self.results.get(&fresh.id), &self.inputs(fresh), &fresh.lock_digest) {
                Lookup::Hit(stored) => {
                    *amended = self.replay(stored, &fresh.lock_digest, report);
                    return Ok(());
                }
                Lookup::Unverified => report.warnings.push(
                    "the stored result is unverified, since your key did not sign it: re-running"
                        .to_owned(),
                ),
                Lookup::Miss => {}
            }
        }
        let skill_tokens = skill_tokens(&inspected.skill.file())?;
        let loads: Vec<CaseLoad> = cases.iter().map(CaseLoad::of).collect();
        let estimate = estimate_cases(&loads, skill_tokens, self.runs, &self.params, self.rates);
        report.estimate = Some(estimate);
        if !self.dry_run {
            *task = Some(Task {
                folder: inspected.skill.folder.clone(),
                eval_folders: inspected.skill.eval_folders.clone(),
                cases,
                skill_tokens,
            });
        }
        Ok(())
    }

    fn inputs<'a>(&'a self, fresh: &'a SkillRecord) -> CacheInputs<'a> {
        CacheInputs {
            digest: &fresh.digest,
            cases_digest: &fresh.cases_digest,
            runner: self.runner,
            fingerprint: self.fingerprint,
            harness: self.harness,
            model: self.model,
            ablation: self.runs.ablation,
            allow_exec: self.allow_exec,
            version: env!("CARGO_PKG_VERSION"),
            grader: self.grader,
        }
    }

    /// The stored result against today's threshold.
    fn replay(
        &self,
        stored: &Stored,
        lock_digest: &str,
        report: &mut SkillReport,
    ) -> Option<SkillRecord> {
        let record = stored.record();
        report.status = SkillStatus::Cached;
        report.passing = record.score.passes(self.threshold);
        report.score = Some(record.score);
        report.estimate_vs_actual = record.estimate;
        after_replay(record, report.passing, lock_digest)
    }
}

fn skill_tokens(file: &Utf8Path) -> Result<u64, String> {
    let bytes = fs_err::read(file.as_std_path()).map_err(|error| error.to_string())?;
    Ok(count_tokens(&String::from_utf8_lossy(&bytes)))
}

/// What everything that is not replayed is expected to cost.
pub(super) fn estimate(plan: &[Planned]) -> Estimate {
    total(plan.iter().filter_map(|planned| planned.job.report.estimate))
}
