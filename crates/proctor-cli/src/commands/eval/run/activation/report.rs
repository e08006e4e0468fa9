//! The documents that a measurement comes to.

use proctor_grade::eval::activation::{compare, confusion};
use proctor_grade::eval::round4;
use proctor_model::eval::activation::{
    ACTIVATION_SCHEMA_VERSION, ActivationCost, ActivationMode, Surface,
};
use proctor_model::eval::comparison::{
    COMPARISON_SCHEMA_VERSION, Candidate, ComparisonMode, ComparisonReport, ComparisonVerdict,
};
use proctor_model::eval::{ActivationReport, ActivationStatus, SkillActivation};

use super::candidates::Candidates;
use super::{HarnessRun, Outcome, Session};

const RETRIEVAL_NOTE: &str = "retrieval measures the built-in ranker (BM25 over name, triggers, \
                              keywords and description), not which skill a model would choose; a \
                              skill fires when it ranks first, and precision is over its own \
                              prompts only";

const NATIVE_NOTE: &str = "native measures which skill the model of a harness loads in its first \
                           turn when every competing skill is installed; a prompt that should fire \
                           the skill passes when it does in at least 80% of the runs, one that \
                           should not when it does in at most 20%";

impl Session<'_> {
    pub(super) fn report(&self, outcome: &Outcome) -> ActivationReport {
        let harness = outcome.harness.as_ref();
        let mut report = ActivationReport {
            schema_version: ACTIVATION_SCHEMA_VERSION,
            mode: ActivationMode::Activation,
            surface: self.surface,
            scope: self.scope,
            note: self.note().to_owned(),
            date: self.base.date.clone(),
            runner: harness.map(|run| run.runner.to_owned()),
            harness: harness.map(|_| self.args.harness.clone()),
            model: harness.map(|_| self.args.model().to_owned()),
            runs: harness.map(|run| run.runs),
            dry_run: harness.is_some() && self.args.dry_run,
            estimate: harness.map(|run| run.estimate),
            cost: cost(harness),
            confusion: confusion(&outcome.skills),
            failed: outcome.skills.iter().any(SkillActivation::failed),
            skills: outcome.skills.clone(),
        };
        if report.dry_run {
            // A stored result that is bad is no result of this run.
            let broken = [ActivationStatus::Invalid, ActivationStatus::Error];
            report.failed = report.skills.iter().any(|skill| broken.contains(&skill.status));
        }
        report
    }

    pub(super) fn comparison(
        &self,
        outcome: &Outcome,
        candidates: &Candidates,
        doubt: Option<String>,
    ) -> ComparisonReport {
        let report = self.report(outcome);
        let missing = || SkillActivation::new("", ActivationStatus::Error);
        let mut measured = report.skills.into_iter();
        let (new, against) = (measured.next().unwrap_or_else(missing), measured.next());
        let against = against.unwrap_or_else(missing);
        let comparison = compare(&new, &against);
        let failed = match comparison.verdict {
            ComparisonVerdict::Better | ComparisonVerdict::NoDifferenceShown => false,
            ComparisonVerdict::Worse => true,
            ComparisonVerdict::NotMeasured => report.failed || !report.dry_run,
        };
        let named = |file: Option<&str>, measured| Candidate {
            file: file.unwrap_or_default().to_owned(),
            measured,
        };
        ComparisonReport {
            schema_version: COMPARISON_SCHEMA_VERSION,
            mode: ComparisonMode::ActivationComparison,
            surface: report.surface,
            scope: report.scope,
            note: report.note,
            date: report.date,
            runner: report.runner,
            harness: report.harness,
            model: report.model,
            runs: report.runs,
            dry_run: report.dry_run,
            estimate: report.estimate,
            cost: report.cost,
            skill: new.id.clone(),
            new: named(Some(&candidates.new.file), new),
            against: named(candidates.against.as_ref().map(|side| side.file.as_str()), against),
            comparison,
            warnings: doubt.into_iter().collect(),
            failed,
        }
    }

    fn note(&self) -> &'static str {
        match self.surface {
            Surface::Retrieval => RETRIEVAL_NOTE,
            Surface::Native => NATIVE_NOTE,
        }
    }
}

fn cost(harness: Option<&HarnessRun>) -> ActivationCost {
    harness.map_or_else(ActivationCost::default, |run| ActivationCost {
        estimate_usd: run.estimate.cost_usd,
        actual_usd: round4(run.cost_usd),
        // Often less than a hundredth of a cent, which four decimals would make nothing.
        canary_usd: run.canary_usd,
    })
}
