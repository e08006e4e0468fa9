//! What the rules find, as text and as JSON.

use std::fmt::Write as _;

use proctor_model::eval::{LintReport, LintSeverity};
use serde_json::Value;

use super::words;
use crate::Styles;

/// The findings as text, one a line, then what they come to.
pub fn lint_text(report: &LintReport, styles: &Styles) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let style = match finding.severity {
            LintSeverity::Error => styles.failed,
            LintSeverity::Warning => styles.warning,
            LintSeverity::Info => styles.quiet,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}:{}:{}: {style}{}{style:#} {} {}: {}",
            words::line(finding.file.as_str()),
            finding.location.line,
            finding.location.column,
            finding.severity,
            finding.code,
            words::line(&finding.name),
            words::line(&finding.message)
        );
        if let Some(hint) = &finding.hint {
            let style = styles.hint;
            let _ = writeln!(text, "  {style}hint: {}{style:#}", words::line(hint));
        }
    }
    let skills = plural(report.skills, "skill");
    if report.findings.is_empty() {
        let _ = writeln!(text, "{skills}, no findings");
        return text;
    }
    let counts: Vec<String> =
        [(report.errors, "error"), (report.warnings, "warning"), (report.infos, "note")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| plural(count, word))
            .collect();
    let verdict = if report.failed { "failed" } else { "passed" };
    let _ = writeln!(
        text,
        "{skills}: {}; {verdict} (fails from severity {})",
        counts.join(", "),
        report.fail_on
    );
    text
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// The findings as JSON.
pub fn lint_json(report: &LintReport) -> String {
    super::json(report)
}

/// JSON Schema (draft 2020-12) of [`lint_json`].
pub fn lint_schema() -> Value {
    super::schema::<LintReport>("Report of proctor eval lint")
}
