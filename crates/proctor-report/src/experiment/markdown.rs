//! A run as Markdown, for comments and summaries.

use std::fmt::Write as _;

use proctor_model::run::{RunReport, Tally, TestStatus, TrialStatus};

use super::run::{because, is_wrong, not_started, percentages, said, warnings};
use crate::line::code_span;
use crate::one_line;

/// The longest text of a stranger that is shown, in characters.
const LONGEST: usize = 400;

/// A table of the variants with rates and intervals, then what did not pass.
pub fn run_markdown(report: &RunReport) -> String {
    let mut text = format!("# {}\n\n", code(&report.run_id));
    text.push_str(
        "| Variant | Passed | Failed | Errors | Planned | Pass rate | 95 % interval |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for variant in &report.variants {
        row(&code(&variant.variant_id), &variant.tally, variant.planned, &mut text);
    }
    row("all", &report.total, report.planned, &mut text);
    let missing = report.planned.saturating_sub(report.finished);
    if missing > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{missing} of {} trials are not finished.", report.planned);
    }
    for (trial, why) in not_started(report) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{} was not started: {}", code(&trial), code(why));
    }
    for (warning, trials) in warnings(report) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nWarning of {trials} trials: {}", code(warning));
    }
    for trial in report.trials.iter().filter(|trial| trial.status != TrialStatus::Pass) {
        let (id, end) = (code(&trial.run_id), trial.exit_reason);
        let reason = trial.reason.as_deref().map(|why| format!(": {}", code(why)));
        let reason = reason.unwrap_or_default();
        let _ =
            writeln!(text, "\n## {}: {id}\n\nThe agent ended with `{end}`{reason}", trial.status);
        let wrong = |status| !matches!(status, TestStatus::Passed | TestStatus::Skipped);
        let tests: Vec<_> = trial.tests.iter().filter(|test| wrong(test.status)).collect();
        let checks: Vec<_> = trial.graded.iter().filter(|check| is_wrong(check)).collect();
        if !tests.is_empty() || !checks.is_empty() {
            text.push('\n');
        }
        for test in tests {
            let (name, said) = (code(&test.name), code(&said(test)));
            let _ = writeln!(text, "- {name} {}: {said}", test.status);
        }
        for check in checks {
            let (name, why) = (code(&check.name), code(&because(check)));
            let _ = writeln!(text, "- {name} {}: {why}", check.status);
        }
    }
    text
}

fn row(name: &str, tally: &Tally, planned: u64, text: &mut String) {
    let Tally { passed, failed, errors, .. } = tally;
    let (rate, interval) = percentages(tally).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "| {name} | {passed} | {failed} | {errors} | {planned} | {rate} | {interval} |"
    );
}

/// A code span on one line that does not end a cell.
fn code(text: &str) -> String {
    if text.is_empty() {
        return "nothing said".to_owned();
    }
    code_span(&one_line(text, LONGEST).replace('|', "\\|"))
}
