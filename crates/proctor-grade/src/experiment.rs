//! Runs of experiments: rates over trials.

use proctor_model::run::{
    RUN_REPORT_VERSION, RunPlan, RunReport, Tally, TrialRecord, TrialStatus, UnfinishedTrial,
    VariantTally,
};

use crate::stats::{Z_95, wilson};

/// What a run came to. `records` are those of its finished trials, and `unfinished` the others.
pub fn report(
    plan: &RunPlan,
    records: Vec<TrialRecord>,
    unfinished: Vec<UnfinishedTrial>,
) -> RunReport {
    let mut variants: Vec<VariantTally> = Vec::new();
    for trial in &plan.trials {
        match variants.iter_mut().find(|variant| variant.variant_id == trial.variant_id) {
            Some(variant) => variant.planned += 1,
            None => variants.push(VariantTally {
                variant_id: trial.variant_id.clone(),
                planned: 1,
                tally: Tally::default(),
            }),
        }
    }
    for variant in &mut variants {
        let of = |record: &&TrialRecord| record.variant_id == variant.variant_id;
        variant.tally = tally(records.iter().filter(of));
    }
    RunReport {
        schema_version: RUN_REPORT_VERSION,
        run_id: plan.run_id.clone(),
        kind: plan.kind,
        experiment_id: plan.experiment_id.clone(),
        retest_of: plan.retest_of.clone(),
        rerun_of: plan.rerun_of.clone(),
        planned: plan.trials.len() as u64,
        finished: records.len() as u64,
        total: tally(records.iter()),
        variants,
        trials: records,
        unfinished,
    }
}

/// Counts and rates. A trial without a result is in no denominator.
fn tally<'a>(records: impl Iterator<Item = &'a TrialRecord>) -> Tally {
    let mut tally = Tally::default();
    for record in records {
        match record.status {
            TrialStatus::Pass => tally.passed += 1,
            TrialStatus::Fail => tally.failed += 1,
            TrialStatus::Error => tally.errors += 1,
        }
        if let Some(usd) = record.usage.and_then(|usage| usage.cost_usd) {
            tally.cost_usd = Some(tally.cost_usd.unwrap_or(0.0) + usd);
        }
    }
    let graded = tally.passed + tally.failed;
    if let Some(interval) = wilson(tally.passed, graded, Z_95) {
        #[expect(clippy::cast_precision_loss, reason = "trials are few")]
        let rate = tally.passed as f64 / graded as f64;
        tally.pass_rate = Some(rate);
        (tally.pass_rate_low, tally.pass_rate_high) = (Some(interval.low), Some(interval.high));
    }
    tally
}
