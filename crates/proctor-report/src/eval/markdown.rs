//! The report of a run as Markdown, for comments and summaries.

use std::fmt::Write as _;

use proctor_model::eval::{CaseReport, EvalReport, SkillReport};

use super::words;
use crate::line::code_span;

/// The report of a run as Markdown: a table, then a section for each skill with something to look
/// at.
pub fn run_markdown(report: &EvalReport) -> String {
    let mut text = String::from("# Skill eval results\n\n");
    head(report, &mut text);
    text.push_str(
        "\n| Skill | Status | Cases | Pass rate | Trigger precision | Trigger recall | \
         Ablation delta | Skill tokens | Cost |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for skill in report.skills.iter().filter(|skill| words::is_listed(skill)) {
        let cells = words::figures(skill).join(" | ");
        let status = words::status(skill);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {status} | {cells} |", prose(&skill.id));
    }
    for skill in &report.skills {
        details(skill, &mut text);
    }
    text
}

fn head(report: &EvalReport, text: &mut String) {
    let date = report.date.as_deref().map(|date| format!(", date {}", prose(date)));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "Runner {}, harness {}, model {}{}{}",
        code(&report.runner),
        code(&report.harness),
        code(&report.model),
        date.unwrap_or_default(),
        if report.ablation { ", ablation on" } else { "" }
    );
    if report.dry_run {
        let [runs, expected, range] = words::estimate(&report.estimate);
        let _ = writeln!(text, "\nEstimate: {runs}, **{expected}** ({range})");
        if let Some(note) = words::price_note(report) {
            let _ = writeln!(text, "\nNote: {}", prose(&note));
        }
    }
}

fn details(skill: &SkillReport, text: &mut String) {
    let problems = skill.problems.iter().map(|problem| {
        format!(
            "{}: {}",
            code(&format!("{}:{}", problem.file, problem.line)),
            code(&problem.message)
        )
    });
    let error = words::not_run(skill).map(|error| format!("error: {}", code(&error)));
    let warnings = skill.warnings.iter().map(|warning| format!("warning: {}", prose(warning)));
    let cases = skill.cases.iter().filter(|case| words::is_wrong(case)).map(failure);
    let lines: Vec<String> = problems.chain(error).chain(warnings).chain(cases).collect();
    if lines.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n### {}\n", prose(&skill.id));
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

fn failure(case: &CaseReport) -> String {
    format!("{}: {}", code(&case.case), prose(&words::why(case)))
}

/// A code span on one line.
pub(super) fn code(text: &str) -> String {
    code_span(&words::line(text))
}

/// Text on one line in which no character means anything to Markdown, and that mentions nobody.
pub(super) fn prose(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in words::line(text).chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                safe.push('\\');
                safe.push(character);
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '@' => safe.push_str("&#64;"),
            other => safe.push(other),
        }
    }
    // A bare address becomes a link by itself.
    safe.replace("://", ":\\/\\/").replace("www.", "www\\.")
}
