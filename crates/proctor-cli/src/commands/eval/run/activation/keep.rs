//! Keeping measurements.

use proctor_grade::eval::activation::record;
use proctor_model::eval::{ActivationRecord, ActivationStatus, SkillActivation};
use proctor_store::eval::{ResultsError, Trust, update};

use super::Session;

/// Puts the measurements of the ranker into the results file, all at once.
pub(super) fn retrieval(
    session: &Session<'_>,
    skills: &[SkillActivation],
) -> Result<(), ResultsError> {
    let measured = skills.iter().filter(|skill| skill.status == ActivationStatus::Ran);
    let date = session.base.date.as_deref().unwrap_or_default();
    let records = measured
        .map(|skill| (skill.id.clone(), record(skill, session.surface, session.scope, date)));
    put(session, records.collect())
}

/// Puts measurements into the results file, unless nothing is to be kept.
pub(super) fn put(
    session: &Session<'_>,
    records: Vec<(String, ActivationRecord)>,
) -> Result<(), ResultsError> {
    if !session.args.keeps() || records.is_empty() {
        return Ok(());
    }
    let key = session.base.key.as_ref();
    let mut unsigned = Vec::new();
    update(&session.base.file, key, |results| {
        for (id, record) in records {
            if results.put_activation(&id, record, key) == Trust::Unverified && key.is_some() {
                unsigned.push(id);
            }
        }
    })?;
    if !unsigned.is_empty() {
        session.context.printer.warning(&format!(
            "what was measured of {} is not signed, since the results of their cases are \
             unverified: run their cases, or keep measurements in a file of their own with \
             `--results`",
            unsigned.join(", ")
        ));
    }
    Ok(())
}
