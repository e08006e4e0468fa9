//! What `proctor experiment validate` found.

use std::fmt::Write as _;

use proctor_model::experiment::{Finding, Level};
use serde_json::Value;

use crate::{Styles, inert};

/// The findings, one a line: `<file>:<line>:<column>: <error|note> <code>: <message>`.
pub fn findings_text(findings: &[Finding], styles: &Styles) -> String {
    let mut text = String::new();
    for Finding { file, line, column, severity, code, message } in findings {
        let style = match severity {
            Level::Error => styles.failed,
            Level::Note => styles.warning,
        };
        let file = file.as_str().replace('\n', "\\n");
        let message = message.replace('\n', "\\n");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}:{line}:{column}: {style}{severity}{style:#} {code}: {}",
            inert(&file),
            inert(&message)
        );
    }
    text
}

/// The findings as a JSON array.
pub fn findings_json(findings: &[Finding]) -> String {
    super::json(&findings)
}

/// JSON Schema (draft 2020-12) of [`findings_json`].
pub fn findings_schema() -> Value {
    super::schema::<Vec<Finding>>("Report of proctor experiment validate")
}

#[cfg(test)]
mod tests {
    use proctor_model::experiment::Rule;

    use super::*;

    #[test]
    fn a_finding_is_one_line_that_commands_nothing() {
        let finding = Finding {
            file: "a\n.yaml".into(),
            line: 3,
            column: 5,
            severity: Level::Note,
            code: Rule::PlanMode,
            message: "x\u{1b}[2J\ny".to_owned(),
        };
        let findings = [finding];
        let text = findings_text(&findings, &Styles::plain());
        assert_eq!(text, "a\\n.yaml:3:5: note plan-mode: x\\u{1b}[2J\\ny\n");
        let value: Value = serde_json::from_str(&findings_json(&findings)).unwrap();
        let keys: Vec<&String> = value[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["file", "line", "column", "severity", "code", "message"]);
        assert_eq!(value[0]["severity"], "note");
    }
}
