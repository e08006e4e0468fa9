//! What the rules find as SARIF 2.1.0 (OASIS standard), for code scanning.

use std::fmt::Write as _;

use proctor_model::eval::{Finding, LintReport, LintSeverity, Rule};
use serde_json::{Value, json};

use crate::inert;

/// The findings as a SARIF 2.1.0 log with one run. `version` is that of the program.
///
/// Paths are relative to `%SRCROOT%`, the project root, where they lie below it. Columns count
/// Unicode code points.
pub fn lint_sarif(report: &LintReport, version: &str) -> String {
    let rules: Vec<Value> = Rule::ALL.into_iter().map(rule).collect();
    let results: Vec<Value> = report.findings.iter().map(result).collect();
    super::json(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "proctor",
                    "semanticVersion": version,
                    "rules": rules,
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn rule(rule: Rule) -> Value {
    let mut value = json!({
        "id": rule.code(),
        "name": rule.name(),
        "shortDescription": { "text": rule.description() },
    });
    value["defaultConfiguration"] = match rule.default_severity() {
        Some(severity) => json!({ "level": level(severity) }),
        None => json!({ "enabled": false }),
    };
    value
}

fn result(finding: &Finding) -> Value {
    let index = Rule::ALL.iter().position(|rule| *rule == finding.code);
    let message = match &finding.hint {
        Some(hint) => format!("{} ({hint})", finding.message),
        None => finding.message.clone(),
    };
    let mut artifact = json!({ "uri": uri(finding.file.as_str()) });
    if finding.file.is_relative() {
        artifact["uriBaseId"] = "%SRCROOT%".into();
    }
    json!({
        "ruleId": finding.code.code(),
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": { "text": inert(&message) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": artifact,
                "region": {
                    "startLine": finding.location.line,
                    "startColumn": finding.location.column,
                },
            },
        }],
    })
}

fn level(severity: LintSeverity) -> &'static str {
    match severity {
        LintSeverity::Error => "error",
        LintSeverity::Warning => "warning",
        LintSeverity::Info => "note",
    }
}

/// A path as a URI reference (RFC 3986): relative, or with the scheme `file`.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len() + 8);
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}
