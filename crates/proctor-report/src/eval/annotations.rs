//! Results as workflow commands of GitHub Actions, which become annotations of the commit.

use std::fmt::Write as _;

use proctor_model::eval::{EvalReport, Finding, LintSeverity, SkillReport, SkillStatus};

use super::words;

/// One workflow command a line for each mistake, failure and warning of a run.
pub fn run_annotations(report: &EvalReport) -> String {
    let mut text = String::new();
    for skill in &report.skills {
        of_skill(skill, &mut text);
    }
    text
}

/// One workflow command a line for each finding.
pub fn lint_annotations(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let level = match finding.severity {
            LintSeverity::Error => "error",
            LintSeverity::Warning => "warning",
            LintSeverity::Info => "notice",
        };
        let message = match &finding.hint {
            Some(hint) => format!("{} (hint: {hint})", finding.message),
            None => finding.message.clone(),
        };
        let place = [
            ("file", finding.file.to_string()),
            ("line", finding.location.line.to_string()),
            ("col", finding.location.column.to_string()),
            ("title", format!("{} {}", finding.code, finding.name)),
        ];
        command(level, &place, &message, &mut text);
    }
    text
}

fn of_skill(skill: &SkillReport, text: &mut String) {
    let title = |case: Option<&str>| {
        let case = case.map(|case| format!(", case {case}")).unwrap_or_default();
        [("title", format!("skill {}{case}", skill.id))]
    };
    for problem in &skill.problems {
        let place = [
            ("file", problem.file.clone()),
            ("line", problem.line.to_string()),
            ("title", format!("skill {}", skill.id)),
        ];
        command("error", &place, &problem.message, text);
    }
    if let Some(reason) = words::not_run(skill) {
        command("error", &title(None), &reason, text);
    }
    // A case that fails does not fail a skill that still reaches its mark.
    let level = if skill.failed() { "error" } else { "warning" };
    for case in skill.cases.iter().filter(|case| words::is_wrong(case)) {
        command(level, &title(Some(&case.case)), &words::why(case), text);
    }
    let judged = matches!(skill.status, SkillStatus::Ran | SkillStatus::Cached);
    if judged && skill.failed() && !skill.cases.iter().any(words::is_wrong) {
        let counts = skill.score.map(|score| words::counts(&score)).unwrap_or_default();
        command("error", &title(None), &format!("{}: {counts}", words::status(skill)), text);
    }
    for warning in &skill.warnings {
        command("warning", &title(None), warning, text);
    }
}

/// Appends `::level key=value,...::message`. Line feeds end a command, and `,` and `:` a value.
pub(super) fn command(
    level: &str,
    properties: &[(&str, String)],
    message: &str,
    text: &mut String,
) {
    let escape = |value: &str| {
        words::line(value).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
    };
    let properties: Vec<String> = properties
        .iter()
        .map(|(key, value)| {
            format!("{key}={}", escape(value).replace(':', "%3A").replace(',', "%2C"))
        })
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "::{level} {}::{}", properties.join(","), escape(message));
}
