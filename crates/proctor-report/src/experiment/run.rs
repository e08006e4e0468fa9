//! What a run came to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proctor_model::run::{
    GradedCheck, GradedStatus, HarnessEvent, RunReport, Tally, TestRecord, TestStatus, TrialRecord,
    TrialStatus,
};
use serde_json::Value;

use super::{json, schema};
use crate::{Styles, inert};

/// For people: what went wrong, trial by trial, then a line a variant, then the sum.
pub fn run_text(report: &RunReport, styles: &Styles) -> String {
    let mut text = String::new();
    for trial in report.trials.iter().filter(|trial| trial.status != TrialStatus::Pass) {
        write_trial(trial, styles, &mut text);
    }
    for (trial, why) in not_started(report) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "not started  {}: {}", inert(&trial), inert(why));
    }
    let width = report.variants.iter().map(|v| v.variant_id.chars().count()).max().unwrap_or(0);
    for variant in &report.variants {
        let Tally { passed, failed, errors, .. } = variant.tally;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<width$}  {passed} passed, {failed} failed, {errors} errors of {}{}",
            inert(&variant.variant_id),
            variant.planned,
            rate(&variant.tally)
        );
    }
    let Tally { passed, failed, errors, cost_usd, .. } = report.total;
    let missing = report.planned.saturating_sub(report.finished);
    let missing = if missing > 0 { format!(", {missing} not run") } else { String::new() };
    let cost = cost_usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
    let _ = writeln!(
        text,
        "{}: {passed} passed, {failed} failed, {errors} errors of {} trials{missing}{cost}{}",
        inert(&report.run_id),
        report.planned,
        rate(&report.total)
    );
    if passed == 0 && report.planned > 0 {
        text.push_str("nothing passed\n");
    }
    for (warning, trials) in warnings(report) {
        let _ = writeln!(text, "warning of {trials} trials: {}", inert(warning));
    }
    text
}

/// What a reader should know beside the verdicts, and of how many trials.
pub(super) fn warnings(report: &RunReport) -> BTreeMap<&str, u64> {
    let mut warnings = BTreeMap::new();
    for warning in report.trials.iter().flat_map(|trial| &trial.warnings) {
        *warnings.entry(warning.as_str()).or_default() += 1;
    }
    warnings
}

/// Why a trial did not pass.
fn write_trial(trial: &TrialRecord, styles: &Styles, text: &mut String) {
    let style = match trial.status {
        TrialStatus::Error => styles.error,
        _ => styles.failed,
    };
    let reason = trial.reason.as_deref().map(|why| format!(": {}", inert(why))).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{style}{}{style:#}  {} ({}){reason}",
        trial.status,
        inert(&trial.run_id),
        trial.exit_reason
    );
    for test in &trial.tests {
        if matches!(test.status, TestStatus::Passed | TestStatus::Skipped) {
            continue;
        }
        let _ = writeln!(text, "  {} {}: {}", test.status, inert(&test.name), inert(&said(test)));
    }
    for check in &trial.graded {
        if is_wrong(check) {
            let (name, why) = (inert(&check.name), because(check));
            let _ = writeln!(text, "  {} {name}: {}", check.status, inert(&why));
        }
    }
}

/// Whether a check is a reason for its trial not to have passed.
pub(super) fn is_wrong(check: &GradedCheck) -> bool {
    !check.optional && !matches!(check.status, GradedStatus::Passed | GradedStatus::Skipped)
}

/// Why a check came to its answer, and the evidence for it.
pub(super) fn because(check: &GradedCheck) -> String {
    let excerpt = check.excerpt.as_ref().map(|excerpt| format!("`{excerpt}`"));
    let said: Vec<String> = check.reason.clone().into_iter().chain(excerpt).collect();
    if said.is_empty() { check.kind.clone() } else { said.join(": ") }
}

/// Every test and every check of every trial.
pub fn tests_text(report: &RunReport, styles: &Styles) -> String {
    let mut text = String::new();
    for trial in &report.trials {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} ({})", inert(&trial_name(trial)), trial.exit_reason);
        for test in &trial.tests {
            let style = match test.status {
                TestStatus::Passed => styles.passed,
                TestStatus::Skipped => styles.skipped,
                TestStatus::Failed => styles.failed,
                TestStatus::EvidenceError | TestStatus::Error => styles.error,
            };
            let why = match test.status {
                TestStatus::Passed => String::new(),
                _ => format!(": {}", inert(&said(test))),
            };
            let _ = writeln!(
                text,
                "  {style}{}{style:#} {} in {} ms{why}",
                test.status,
                inert(&test.name),
                test.duration_ms
            );
        }
        for check in &trial.graded {
            let style = match check.status {
                GradedStatus::Passed => styles.passed,
                GradedStatus::Skipped => styles.skipped,
                GradedStatus::Failed => styles.failed,
                GradedStatus::Error | GradedStatus::Unknown => styles.error,
            };
            let why = match check.status {
                GradedStatus::Passed => String::new(),
                _ => format!(": {}", inert(&because(check))),
            };
            let optional = if check.optional { " (optional)" } else { "" };
            let name = inert(&check.name);
            let _ = writeln!(text, "  {style}{}{style:#} {name}{optional}{why}", check.status);
        }
    }
    text
}

/// Planned trials that were not started, by what is the same whenever they are, and why.
pub(super) fn not_started(report: &RunReport) -> impl Iterator<Item = (String, &str)> {
    report.unfinished.iter().filter_map(|trial| {
        let name = format!("{} #{}", trial.variant_id, trial.repeat_idx);
        Some((name, trial.not_started.as_deref()?))
    })
}

/// A trial by what is the same whenever it is run.
pub(super) fn trial_name(trial: &TrialRecord) -> String {
    format!("{} #{}", trial.variant_id, trial.repeat_idx)
}

/// Why a test did not pass: its exit code, and the question that had no answer, what else is known,
/// or else the last thing it said.
pub(super) fn said(test: &TestRecord) -> String {
    let asked = match test.status {
        TestStatus::EvidenceError => test.evidence_errors.first().cloned(),
        _ => None,
    };
    let last = || test.stderr_tail.trim().lines().next_back().map(str::to_owned);
    let why = asked.or_else(|| test.reason.clone()).or_else(last);
    let code = test.exit_code.map(|code| format!("exit {code}"));
    code.into_iter().chain(why).collect::<Vec<_>>().join(": ")
}

fn rate(tally: &Tally) -> String {
    let n = tally.passed + tally.failed;
    match percentages(tally) {
        Some((rate, interval)) => format!("  {rate} ({interval}, n = {n})"),
        None => String::new(),
    }
}

/// A rate and its interval; `None` without a trial that has a result.
pub(super) fn percentages(tally: &Tally) -> Option<(String, String)> {
    let (rate, low) = (tally.pass_rate? * 100.0, tally.pass_rate_low? * 100.0);
    let high = tally.pass_rate_high? * 100.0;
    Some((format!("{rate:.0}%"), format!("{low:.0}-{high:.0}%")))
}

/// For programs.
pub fn run_json(report: &RunReport) -> String {
    json(report)
}

/// The shape of a line of `harness-events.jsonl`.
pub fn harness_event_schema() -> Value {
    schema::<HarnessEvent>("a line of harness-events.jsonl")
}

/// The shape of [`run_json`].
pub fn run_schema() -> Value {
    schema::<RunReport>("proctor experiment run --format json")
}
