//! Answers about activation, held against what was asked.

use std::collections::BTreeSet;

use proctor_model::eval::protocol::{Arm, CaseResult, NONE_FIRED, Response};

use super::contest::Contest;
use crate::eval::answer::{self, AnswerError};

/// Holds an answer against its contest: what every answer must hold, one arm only, and counts that
/// can be.
pub(super) fn check(response: &Response, contest: &Contest<'_>) -> Result<(), AnswerError> {
    answer::check(response, &contest.call)?;
    let installed: BTreeSet<&str> =
        contest.skills.iter().map(|skill| skill.id.as_str()).chain([NONE_FIRED]).collect();
    for (index, result) in response.results.iter().enumerate() {
        let place = format!("results[{index}]");
        if result.arm != Arm::With.as_str() {
            let value = format!("`{}`", result.arm);
            return Err(figure(
                format!("{place}.arm"),
                value,
                "`with`, the only arm of activation",
            ));
        }
        if !result.is_skipped() && result.failure().is_none() {
            counts(&place, result, &installed, contest.skills.len())?;
        }
    }
    Ok(())
}

fn counts(
    place: &str,
    result: &CaseResult,
    installed: &BTreeSet<&str>,
    skills: usize,
) -> Result<(), AnswerError> {
    let absent = || "absent".to_owned();
    let shown = |count: Option<i64>| count.map_or_else(absent, |count| count.to_string());
    let Some(runs) = result.runs.filter(|runs| *runs >= 1) else {
        return Err(figure(format!("{place}.runs"), shown(result.runs), "1 or more"));
    };
    if result.errored_runs.is_some_and(|runs| runs < 0) {
        let field = format!("{place}.errored_runs");
        return Err(figure(field, shown(result.errored_runs), "0 or more"));
    }
    // Nothing is not the same as no skill.
    let Some(fired) = &result.fired_counts else {
        let must = "the runs in which each skill loaded, and `none`";
        return Err(figure(format!("{place}.fired_counts"), absent(), must));
    };
    for (id, count) in fired {
        if !installed.contains(id.as_str()) {
            let field = format!("a key of {place}.fired_counts");
            let must = "the id of a skill of the request, or `none`";
            return Err(figure(field, format!("`{}`", answer::shown(id)), must));
        }
        if !(0..=runs).contains(count) {
            let field = format!("{place}.fired_counts.{id}");
            return Err(figure(field, count.to_string(), "from 0 to `runs`"));
        }
    }
    let sum: i128 = fired.values().copied().map(i128::from).sum();
    let most = i128::from(runs).saturating_mul(i128::try_from(skills).unwrap_or(i128::MAX));
    if sum > most {
        let field = format!("the sum of {place}.fired_counts");
        return Err(figure(field, sum.to_string(), "at most `runs` times the number of skills"));
    }
    Ok(())
}

fn figure(field: String, value: String, must: &'static str) -> AnswerError {
    AnswerError::Figure { field, value, must }
}
