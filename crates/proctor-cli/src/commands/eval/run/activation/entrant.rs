//! What is known of a skill before it is measured.

use std::collections::BTreeSet;

use proctor_formats::eval::Inspected;
use proctor_model::eval::{ActivationStatus, ExpandedCase, SkillActivation};

use super::field::{Competition, Field};

/// What narrows a measurement.
pub(super) struct Selection<'a> {
    /// The skills that changed; `None` when that does not matter.
    pub(super) changed: Option<&'a BTreeSet<String>>,
    /// The tags of which a prompt must have one; empty when that does not matter.
    pub(super) tags: &'a [String],
}

/// A skill at the start.
pub(super) struct Entrant<'a> {
    pub(super) report: SkillActivation,
    /// What is to be measured; `None` when there is nothing.
    pub(super) ready: Option<Ready<'a>>,
}

/// A skill that can be measured.
pub(super) struct Ready<'a> {
    pub(super) cases: Vec<ExpandedCase>,
    /// The digest of its eval folders.
    pub(super) cases_digest: String,
    pub(super) competition: &'a Competition,
}

impl Entrant<'_> {
    /// How many prompts are measured.
    pub(super) fn prompts(&self) -> u64 {
        self.ready.as_ref().map_or(0, |ready| ready.cases.len() as u64)
    }

    pub(super) fn has_no_cases(&self) -> bool {
        self.report.status == ActivationStatus::NoCases
    }
}

impl Selection<'_> {
    /// One skill.
    pub(super) fn entrant<'a>(&self, inspected: &Inspected<'_>, field: &'a Field) -> Entrant<'a> {
        let mut report = SkillActivation::new(&inspected.skill.id, ActivationStatus::DryRun);
        let ready = self.ready(inspected, field, &mut report);
        let ready = ready.unwrap_or_else(|error| {
            report.status = ActivationStatus::Error;
            report.error = Some(error);
            None
        });
        Entrant { report, ready }
    }

    fn ready<'a>(
        &self,
        inspected: &Inspected<'_>,
        field: &'a Field,
        report: &mut SkillActivation,
    ) -> Result<Option<Ready<'a>>, String> {
        if self.changed.is_some_and(|changed| !changed.contains(&report.id)) {
            report.status = ActivationStatus::SkippedUnchanged;
            return Ok(None);
        }
        if !inspected.loaded.is_valid() {
            report.status = ActivationStatus::Invalid;
            report.problems = inspected.loaded.problems();
            return Ok(None);
        }
        report.warnings.extend(inspected.loaded.diagnostics.0.iter().map(ToString::to_string));
        let mut cases = inspected.loaded.expanded();
        let has_tag = |case: &ExpandedCase| case.tags.iter().any(|tag| self.tags.contains(tag));
        cases.retain(|case| self.tags.is_empty() || has_tag(case));
        if cases.is_empty() {
            report.status = ActivationStatus::NoCases;
            return Ok(None);
        }
        let competition = field.competition(inspected.skill)?;
        let digest = inspected.digest.as_ref().map_err(ToString::to_string)?;
        let cases_digest = inspected.cases_digest.as_ref().map_err(ToString::to_string)?;
        report.digest = Some(digest.clone());
        report.set_digest = Some(competition.set_digest.clone());
        report.competing = competition.skills.iter().map(|skill| skill.id.clone()).collect();
        report.warnings.extend(competition.warnings.iter().cloned());
        Ok(Some(Ready { cases, cases_digest: cases_digest.clone(), competition }))
    }
}
