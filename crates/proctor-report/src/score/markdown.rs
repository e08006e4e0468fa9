//! Markdown for comments and summaries: tables first, then every run that is not as it should be.
//!
//! Whatever an input says stands in code spans, where it can neither link, nor mention, nor be HTML.

use std::fmt::Write as _;

use proctor_model::recorded::report::{Cell, Counts, RunReport, Summary, Verdict};
use proctor_model::recorded::run::{Category, Kind};

use super::outcome::Outcome;
use super::words;
use crate::line::code_span;

pub(super) fn head(summary: &Summary) -> String {
    let mut text = format!("## Recorded runs: {}\n\n", summary.verdict);
    let Counts { error, fail, unknown, pass } = summary.counts;
    let total = words::runs(summary.counts.total());
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{total}: {pass} pass, {fail} fail, {unknown} unknown, {error} error; {} left out.",
        summary.skipped
    );
    for note in &summary.notes {
        let _ = writeln!(text, "\n{note}");
    }
    if let Some(test) = summary.self_test {
        let _ = writeln!(text, "\n{}", words::self_test(test));
    }
    if !summary.matrix.is_empty() {
        text.push_str("\n| category | kind | verdict | pass | fail | unknown | error |\n");
        text.push_str("|---|---|---|---:|---:|---:|---:|\n");
    }
    for Cell { category, kind, verdict, counts } in &summary.matrix {
        let category = category.map_or("not readable", Category::as_str);
        let kind = kind.map_or("not readable", Kind::as_str);
        let Counts { error, fail, unknown, pass } = counts;
        let _ = writeln!(
            text,
            "| {category} | {kind} | {verdict} | {pass} | {fail} | {unknown} | {error} |"
        );
    }
    if let Some(agreement) = &summary.agreement {
        text.push_str("\n| verdict | labelled pass | labelled fail |\n|---|---:|---:|\n");
        for row in &agreement.table {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                row.verdict, row.labelled_pass, row.labelled_fail
            );
        }
        text.push('\n');
        for sentence in words::agreement(agreement) {
            let _ = writeln!(text, "- {sentence}");
        }
    }
    text.push('\n');
    text
}

pub(super) fn run(report: &RunReport<'_>, out: &mut Vec<u8>) {
    let outcome = Outcome::of(report);
    if outcome == Outcome::Good {
        return;
    }
    let fixture = report.fixture.unwrap_or_default();
    let names = [fixture.id, report.path.as_deref()];
    let names: Vec<String> = names.into_iter().flatten().map(code).collect();
    let name =
        if names.is_empty() { "run without a readable id".to_owned() } else { names.join(" in ") };
    let mut text = format!("- **{}** {name}\n", report.verdict);
    // Writing to a string cannot fail.
    if let Outcome::NotAsIntended(intended) = outcome {
        let intended = intended.map_or("nothing that can be read", Verdict::as_str);
        let _ = writeln!(text, "  - intended: {intended}");
    }
    for violation in &report.violations {
        let _ = writeln!(text, "  - {}", code(&violation.to_string()));
    }
    if let Some(reason) = words::run_reason(report) {
        let _ = writeln!(text, "  - {reason}");
    }
    for check in report.checks.iter().filter(|check| check.verdict != Verdict::Pass) {
        let reason = check.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let _ = writeln!(text, "  - {} {}{reason}", check.verdict, check.check);
        for line in words::finding(check) {
            let _ = writeln!(text, "    - {}", code(line.trim_start()));
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "  - note: {}", code(&words::explained(note)));
    }
    out.extend_from_slice(text.as_bytes());
}

/// A code span with this text, whatever back ticks it has.
fn code(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words::line_of(&words.join(" "));
    code_span(&line)
}
