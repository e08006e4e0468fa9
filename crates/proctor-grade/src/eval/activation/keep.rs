//! What the results file keeps of a measurement: rates and ids, never prompts.

use proctor_model::eval::activation::{Rate, Scope, Surface};
use proctor_model::eval::{ActivationRecord, ActivationStatus, SkillActivation};

use super::figures::proportion;
use crate::eval::round::{float, rate};

/// The record of a measured skill. What only a run of a harness has, who ran it fills in.
pub fn record(
    skill: &SkillActivation,
    surface: Surface,
    scope: Scope,
    date: &str,
) -> ActivationRecord {
    let positives = skill.prompts.iter().filter(|prompt| prompt.expect).count();
    ActivationRecord {
        surface: surface.as_str().to_owned(),
        scope: scope.as_str().to_owned(),
        digest: skill.digest.clone().unwrap_or_default(),
        set_digest: skill.set_digest.clone().unwrap_or_default(),
        date: date.to_owned(),
        positives: positives as u64,
        negatives: (skill.prompts.len() - positives) as u64,
        recall: skill.recall.map(|rate| rate.value),
        precision: skill.precision.map(|rate| rate.value),
        stolen_by: skill.stolen_by.clone(),
        ..ActivationRecord::default()
    }
}

/// Puts a stored measurement into the report of its skill. Passing is as it was. Figures that the
/// record does not hold are worked out where its counts decide them, and are else absent.
pub fn replay(record: &ActivationRecord, report: &mut SkillActivation) {
    report.status = ActivationStatus::Cached;
    report.passing = record.passing;
    report.stolen_by.clone_from(&record.stolen_by);
    report.estimate_vs_actual = record.estimate;
    report.recall = record.recall.and_then(|value| rate_over(value, record.positives));
    let hits = report.recall.map_or(0, |recall| part(recall.value, recall.n));
    let fired = match record.precision {
        // No prompt fired it.
        None => Some(0),
        Some(precision) if hits > 0 => whole(hits, precision, hits + record.negatives),
        // All that fired it should not have: how many, the record does not say.
        Some(_) => None,
    };
    report.precision = fired.and_then(|fired| proportion(hits, fired));
    report.false_activation =
        fired.and_then(|fired| proportion(fired.saturating_sub(hits), record.negatives));
}

/// A stored rate with the interval of the counts behind it, if there are such counts.
fn rate_over(value: f64, n: u64) -> Option<Rate> {
    let hits = part(value, n);
    proportion(hits, n).filter(|rate| (rate.value - value).abs() < 1e-9)
}

/// The count of which `value` of `n` is the share.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion that saturates is right for counts"
)]
fn part(value: f64, n: u64) -> u64 {
    ((value * float(n)).round() as u64).min(n)
}

/// The count up to `most` of which `part` is the share `value`, when the four decimals of the value
/// leave no doubt.
fn whole(part: u64, value: f64, most: u64) -> Option<u64> {
    let matches = |whole: &u64| rate(part, *whole).is_some_and(|rate| (rate - value).abs() < 1e-9);
    let near = guess(part, value)?;
    let mut found = (near.saturating_sub(1)..=near.saturating_add(1)).filter(matches);
    let whole = found.next().filter(|whole| *whole <= most);
    if found.next().is_some() { None } else { whole }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion that saturates is right for counts"
)]
fn guess(part: u64, value: f64) -> Option<u64> {
    (value > 0.0).then(|| (float(part) / value).round() as u64)
}
