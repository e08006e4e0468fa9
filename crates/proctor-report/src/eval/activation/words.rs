//! Figures and states in words.

use proctor_model::eval::activation::{NO_WINNER, Rate};
use proctor_model::eval::{
    ActivationReport, ActivationStatus, PromptActivation, PromptStatus, SkillActivation,
};

use crate::eval::words::{line, percent};

/// The state of a skill, with the verdict where there is one.
pub(super) fn status(skill: &SkillActivation) -> String {
    match skill.status {
        ActivationStatus::Ran | ActivationStatus::Cached => {
            let verdict = if skill.passing { "passing" } else { "failing" };
            format!("{}, {verdict}", skill.status)
        }
        status => status.to_string(),
    }
}

/// Whether tables list the skill: nothing was ever to be done with the others.
pub(super) fn is_listed(skill: &SkillActivation) -> bool {
    !matches!(skill.status, ActivationStatus::NoCases | ActivationStatus::SkippedUnchanged)
}

/// A rate with its interval.
pub(super) fn rate(rate: Option<Rate>) -> String {
    rate.map_or_else(
        || "n/a".to_owned(),
        |Rate { value, interval, .. }| {
            let [value, low, high] = [value, interval.low, interval.high].map(|part| part * 100.0);
            format!("{value:.0}% ({low:.0}-{high:.0}%)")
        },
    )
}

/// Why a skill was not measured, when that is no fault of its case files.
pub(super) fn not_measured(skill: &SkillActivation) -> Option<String> {
    match (&skill.error, skill.status) {
        (Some(error), _) => Some(error.clone()),
        (None, ActivationStatus::Error) => Some("not measured".to_owned()),
        (None, ActivationStatus::SkippedOverBudget) => {
            Some("not measured: the budget was spent before its turn".to_owned())
        }
        _ => None,
    }
}

/// What somebody should know of a prompt; `None` for one that plainly passed.
pub(super) fn prompt(prompt: &PromptActivation) -> Option<String> {
    let expected = if prompt.expect { "should fire" } else { "should stay quiet" };
    let winner = match prompt.winner.as_str() {
        NO_WINNER => "no skill".to_owned(),
        winner => line(winner),
    };
    match (prompt.status, prompt.interval) {
        (PromptStatus::Passed, _) => None,
        (PromptStatus::Error, _) => {
            Some(format!("no result: {}", prompt.error.as_deref().unwrap_or("no reason is known")))
        }
        (PromptStatus::Failed | PromptStatus::Borderline, None) => {
            let rank = prompt.rank.map_or_else(|| "unranked".to_owned(), |rank| rank.to_string());
            Some(format!("{expected}; {winner} ranked first (rank of this skill: {rank})"))
        }
        (PromptStatus::Failed | PromptStatus::Borderline, Some(interval)) => Some(format!(
            "{}: {expected}; fired in {} of {} runs ({:.0}-{:.0}%); fired most: {winner}",
            prompt.status,
            fires(prompt),
            prompt.runs,
            interval.low * 100.0,
            interval.high * 100.0
        )),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
fn fires(prompt: &PromptActivation) -> String {
    format!("{:.0}", prompt.rate * prompt.runs as f64)
}

/// Who won prompts of a skill.
pub(super) fn stolen(skill: &SkillActivation) -> impl Iterator<Item = String> {
    let positives = skill.prompts.iter().filter(|prompt| prompt.expect).count();
    skill.stolen_by.iter().map(move |thief| {
        let share = percent(Some(thief.share));
        let of = match positives {
            // Replayed: the prompts themselves are not kept.
            0 => String::new(),
            count => format!(" of {count}"),
        };
        format!("won {}{of} prompts that should fire this skill ({share})", thief.prompts)
    })
}

/// How many runs were not needed.
pub(super) fn saved(skill: &SkillActivation) -> Option<String> {
    let runs: u64 = skill.prompts.iter().map(|prompt| prompt.runs + prompt.errored_runs).sum();
    let saved = skill.saved_runs;
    (saved > 0).then(|| {
        format!(
            "{saved} of {} planned runs were not needed: no result of them could have changed a \
             verdict",
            runs + saved
        )
    })
}

/// The report in one line, without a line feed.
pub fn activation_summary(report: &ActivationReport) -> String {
    let count = |wanted: &dyn Fn(&SkillActivation) -> bool| {
        report.skills.iter().filter(|skill| wanted(skill)).count()
    };
    let is = |status: ActivationStatus| move |skill: &SkillActivation| skill.status == status;
    let parts: Vec<String> = [
        (count(&|skill| skill.passing && !skill.failed()), "passing"),
        (count(&SkillActivation::failed), "failing"),
        (count(&is(ActivationStatus::DryRun)), "not run (dry run)"),
        (count(&is(ActivationStatus::SkippedUnchanged)), "unchanged"),
        (count(&is(ActivationStatus::NoCases)), "without cases"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    let skills = match report.skills.len() {
        1 => "1 skill".to_owned(),
        count => format!("{count} skills"),
    };
    let parts = if parts.is_empty() { "nothing to measure".to_owned() } else { parts.join(", ") };
    let cost = match report.cost.actual_usd {
        0.0 => String::new(),
        usd => format!("; cost ${usd:.4}"),
    };
    let measured = report.skills.iter().any(|skill| skill.passing);
    let verdict = match (report.failed, measured) {
        (true, _) => "failed",
        (false, true) => "passed",
        (false, false) => "nothing was measured",
    };
    format!("{skills}: {parts}{cost}; verdict: {verdict}")
}
