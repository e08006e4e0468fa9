//! Text for people: every run that is not as it should be, then what the set comes to.

use std::fmt::Write as _;

use anstyle::Style;
use proctor_model::recorded::report::{Cell, Counts, RunReport, Summary, Verdict};
use proctor_model::recorded::run::{Category, Kind};

use super::outcome::Outcome;
use super::words;
use crate::Styles;

/// A run that is as it should be is shown only when it is alone.
pub(super) fn run(report: &RunReport<'_>, single: bool, styles: &Styles, out: &mut Vec<u8>) {
    let outcome = Outcome::of(report);
    if outcome == Outcome::Good && !single {
        return;
    }
    let mut text = String::new();
    headline(report, styles, &mut text);
    if let Outcome::NotAsIntended(intended) = outcome {
        let intended = intended.map_or("nothing that can be read", Verdict::as_str);
        line(&mut text, &format!("  intended: {intended}"));
    }
    for violation in &report.violations {
        line(&mut text, &format!("  {}", words::line_of(&violation.to_string())));
    }
    if let Some(reason) = words::run_reason(report) {
        line(&mut text, &format!("  {reason}"));
    }
    for check in report.checks.iter().filter(|check| single || check.verdict != Verdict::Pass) {
        let reason = check.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let word = verdict(check.verdict, styles);
        line(&mut text, &format!("  {word} {}{reason}", check.check));
        for finding in words::finding(check) {
            line(&mut text, &format!("    {finding}"));
        }
        if let Some(step) = words::next_step(check) {
            line(&mut text, &format!("    {}", styled(&format!("next: {step}"), styles.hint)));
        }
    }
    for note in &report.notes {
        line(&mut text, &format!("  note: {}", words::explained(note)));
    }
    out.extend_from_slice(text.as_bytes());
}

fn headline(report: &RunReport<'_>, styles: &Styles, text: &mut String) {
    let fixture = report.fixture.unwrap_or_default();
    let id = fixture.id.map(words::line_of);
    let path = report.path.as_deref().map(words::line_of);
    let (subject, place) = match (&id, &path) {
        (Some(id), Some(path)) => (id.as_str(), format!(" in {path}")),
        (Some(id), None) => (id.as_str(), String::new()),
        (None, Some(path)) => (path.as_str(), String::new()),
        (None, None) => ("run without a readable id", String::new()),
    };
    let facts: Vec<&str> = [
        fixture.category.map(Category::as_str),
        fixture.kind.map(Kind::as_str),
        report.subject.map(proctor_model::recorded::report::Subject::as_str),
    ]
    .into_iter()
    .flatten()
    .collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    let word = verdict(report.verdict, styles);
    line(text, &format!("{word} {}{facts}{place}", styled(subject, styles.subject)));
}

/// Counts, matrix, self-test and labels of a set.
pub(super) fn foot(summary: &Summary, styles: &Styles) -> String {
    let mut text = String::new();
    if summary.counts.total() > 0 {
        text.push('\n');
        matrix(summary, styles, &mut text);
        text.push('\n');
    }
    if let Some(agreement) = &summary.agreement {
        line(&mut text, "verdict   labelled pass   labelled fail");
        for row in &agreement.table {
            let word = padded(row.verdict, styles);
            line(&mut text, &format!("{word} {:>15} {:>15}", row.labelled_pass, row.labelled_fail));
        }
        for sentence in words::agreement(agreement) {
            line(&mut text, &sentence);
        }
        text.push('\n');
    }
    if let Some(test) = summary.self_test {
        line(&mut text, &words::self_test(test));
    }
    for note in &summary.notes {
        line(&mut text, note);
    }
    let Counts { error, fail, unknown, pass } = summary.counts;
    let skipped = match summary.skipped {
        0 => String::new(),
        skipped => format!("; {skipped} left out"),
    };
    let runs = words::runs(summary.counts.total());
    line(
        &mut text,
        &format!("{runs}: {pass} pass, {fail} fail, {unknown} unknown, {error} error{skipped}"),
    );
    line(&mut text, &format!("verdict: {}", verdict(summary.verdict, styles)));
    text
}

fn matrix(summary: &Summary, styles: &Styles, text: &mut String) {
    line(text, "category          kind          verdict     pass     fail  unknown    error");
    for Cell { category, kind, verdict, counts } in &summary.matrix {
        let category = category.map_or("not readable", Category::as_str);
        let kind = kind.map_or("not readable", Kind::as_str);
        let Counts { error, fail, unknown, pass } = counts;
        let word = padded(*verdict, styles);
        line(
            text,
            &format!(
                "{category:<17} {kind:<13} {word} {pass:>8} {fail:>8} {unknown:>8} {error:>8}"
            ),
        );
    }
}

fn verdict(verdict: Verdict, styles: &Styles) -> String {
    styled(verdict.as_str(), style(verdict, styles))
}

/// The verdict, as wide as the widest.
fn padded(verdict: Verdict, styles: &Styles) -> String {
    styled(&format!("{verdict:<7}"), style(verdict, styles))
}

fn style(verdict: Verdict, styles: &Styles) -> Style {
    match verdict {
        Verdict::Pass => styles.passed,
        Verdict::Fail => styles.failed,
        Verdict::Unknown => styles.skipped,
        Verdict::Error => styles.error,
    }
}

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
