//! What to do with each skill, as text and as JSON.

use std::fmt::Write as _;

use anstyle::Style;
use proctor_model::eval::advice::{Action, AdviceReport, AdviceRow};
use serde_json::Value;

use super::table::Table;
use super::words;
use crate::Styles;

/// The recommendations as text: a table, then the reasons of each skill that has some.
pub fn advice_text(report: &AdviceReport, styles: &Styles) -> String {
    let headings = ["SKILL", "ACTION", "USES", "PASS", "PRECISION", "RECALL", "ABLATION", "TOKENS"];
    let mut table = Table::new(headings, 2);
    for row in &report.skills {
        table.row(cells(row), style(row.action, styles));
    }
    let mut text = String::new();
    if table.is_empty() {
        text.push_str("no skills\n");
        return text;
    }
    table.write(styles.quiet, &mut text);
    for row in &report.skills {
        details(row, styles, &mut text);
    }
    // Writing to a string cannot fail.
    let _ = match report.logged_uses {
        None => writeln!(text, "\nwithout a log of usage nothing is concluded about use"),
        Some(1) => writeln!(text, "\n1 logged use"),
        Some(uses) => writeln!(text, "\n{uses} logged uses"),
    };
    text
}

fn cells(row: &AdviceRow) -> [String; 8] {
    let delta = row.ablation_delta.map(|delta| format!("{:+.0} pts", delta * 100.0));
    [
        words::line(&row.id),
        row.action.to_string(),
        row.uses.map_or_else(|| "n/a".to_owned(), |uses| uses.to_string()),
        words::percent(row.pass_rate),
        words::percent(row.trigger_precision),
        words::percent(row.trigger_recall),
        delta.unwrap_or_else(|| "n/a".to_owned()),
        row.skill_tokens.to_string(),
    ]
}

fn details(row: &AdviceRow, styles: &Styles, text: &mut String) {
    let uses = row.join.filter(|_| !row.join_uses.is_empty()).map(|join| {
        let by_class = row.join_uses.iter().map(|(class, count)| format!("{count} {class}"));
        format!("uses joined: {join} ({})", by_class.collect::<Vec<_>>().join(", "))
    });
    let said = row.feedback.map(|said| {
        format!(
            "feedback: {} misled, {} stale, {} wrong, {} great",
            said.misled, said.stale, said.wrong, said.great
        )
    });
    let notes: Vec<String> = said
        .into_iter()
        .chain(uses)
        .chain(row.notes.iter().map(|note| format!("note: {}", words::line(note))))
        .collect();
    if row.reasons.is_empty() && notes.is_empty() {
        return;
    }
    let (subject, colour) = (styles.subject, style(row.action, styles));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n{subject}{}{subject:#}: {colour}{}{colour:#}",
        words::line(&row.id),
        row.action
    );
    for reason in &row.reasons {
        let _ = writeln!(text, "  {}", words::line(reason));
    }
    for note in notes {
        let _ = writeln!(text, "  {note}");
    }
}

fn style(action: Action, styles: &Styles) -> Style {
    match action {
        Action::Rewrite => styles.failed,
        Action::Prune => styles.warning,
        Action::Review => styles.skipped,
        Action::Keep => styles.passed,
    }
}

/// The recommendations as JSON.
pub fn advice_json(report: &AdviceReport) -> String {
    super::json(report)
}

/// JSON Schema (draft 2020-12) of [`advice_json`].
pub fn advice_schema() -> Value {
    super::schema::<AdviceReport>("Report of proctor eval report")
}
