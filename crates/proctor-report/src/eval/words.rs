//! Figures and states in words, the same in every format for people.

use std::fmt::Write as _;

use proctor_model::eval::{
    CaseReport, CaseStatus, Estimate, EvalReport, Score, SkillReport, SkillStatus,
};

use crate::line::one_line;

/// How many characters of a stranger's text are shown.
const LONGEST: usize = 400;

/// A stranger's text, on one line.
pub(super) fn line(text: &str) -> String {
    one_line(text, LONGEST)
}

/// The state of a skill, with the verdict where there is one.
pub(super) fn status(skill: &SkillReport) -> String {
    match skill.status {
        SkillStatus::Ran | SkillStatus::Cached => {
            let verdict = if skill.passing { "passing" } else { "failing" };
            format!("{}, {verdict}", skill.status)
        }
        status => status.to_string(),
    }
}

/// Whether tables list the skill: nothing was ever to be done with the others.
pub(super) fn is_listed(skill: &SkillReport) -> bool {
    !matches!(skill.status, SkillStatus::NoCases | SkillStatus::SkippedUnchanged)
}

/// Cases, rates, tokens and cost of a skill: everything in its row behind the state.
pub(super) fn figures(skill: &SkillReport) -> [String; 7] {
    let Some(score) = &skill.score else {
        let cost = skill.estimate.map_or("-".to_owned(), |e| format!("~${:.2}", e.cost_usd));
        let none = || "-".to_owned();
        return [none(), none(), none(), none(), none(), none(), cost];
    };
    [
        score.scored.to_string(),
        percent(Some(score.pass_rate)),
        percent(score.trigger_precision),
        percent(score.trigger_recall),
        score
            .ablation_delta
            .map_or_else(|| "n/a".to_owned(), |delta| format!("{:+.0} pts", delta * 100.0)),
        score.skill_tokens.to_string(),
        format!("${:.2}", score.cost_usd),
    ]
}

/// A share of one in per cent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "n/a".to_owned(), |share| format!("{:.0}%", share * 100.0))
}

/// What the cases of a skill came to.
pub(super) fn counts(score: &Score) -> String {
    let Score { passed, scored, failed, errors, skipped, .. } = score;
    let mut text = format!("{passed} of {scored} passed");
    for (count, word) in [(failed, "failed"), (errors, "without a result"), (skipped, "skipped")] {
        if *count > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {count} {word}");
        }
    }
    text
}

/// Why a case is not what it should be; empty for one that passed.
pub(super) fn why(case: &CaseReport) -> String {
    let reason = case.reason.as_deref().unwrap_or_default();
    match case.status {
        CaseStatus::Passed => String::new(),
        CaseStatus::Failed if !case.failures.is_empty() => case.failures.join("; "),
        CaseStatus::Failed | CaseStatus::Error | CaseStatus::Skipped if !reason.is_empty() => {
            reason.to_owned()
        }
        CaseStatus::Failed => "failed".to_owned(),
        CaseStatus::Error => "no result".to_owned(),
        CaseStatus::Skipped => "skipped".to_owned(),
    }
}

/// Whether readers must look at the case.
pub(super) fn is_wrong(case: &CaseReport) -> bool {
    matches!(case.status, CaseStatus::Failed | CaseStatus::Error)
}

/// Why a skill was not run, when that is no fault of its case files.
pub(super) fn not_run(skill: &SkillReport) -> Option<String> {
    match (&skill.error, skill.status) {
        (Some(error), _) => Some(error.clone()),
        (None, SkillStatus::Error) => Some("not run".to_owned()),
        (None, SkillStatus::SkippedOverBudget) => {
            Some("not run: the budget was spent before its turn".to_owned())
        }
        _ => None,
    }
}

/// What a run would take, and at which price.
pub(super) fn estimate(e: &Estimate) -> [String; 3] {
    [
        format!(
            "{} agent runs, tokens in {} / {} / {}, out {} / {} / {} (low / expected / high)",
            e.agent_runs,
            e.input_tokens_low,
            e.input_tokens,
            e.input_tokens_high,
            e.output_tokens_low,
            e.output_tokens,
            e.output_tokens_high
        ),
        format!("${:.4}", e.cost_usd),
        format!("${:.4} to ${:.4}", e.cost_low_usd, e.cost_high_usd),
    ]
}

/// What the price of the estimate rests on, when that is not the price of the model.
pub(super) fn price_note(report: &EvalReport) -> Option<String> {
    let model = line(&report.model);
    let priced_as = report.priced_as.as_deref();
    match (report.price_known, priced_as) {
        (true, None) => None,
        (true, Some(other)) => {
            Some(format!("no model was named: the estimate is priced as {}", line(other)))
        }
        (false, other) => Some(format!(
            "the price of model {model} is not known: the estimate is priced as {}; \
             `--price-in` and `--price-out` name a price",
            line(other.unwrap_or("sonnet"))
        )),
    }
}
