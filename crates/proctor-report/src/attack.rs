//! What became of attacks.

use std::fmt::Write as _;

use anstyle::Style;
use proctor_model::attack::{AttackReport, AttackResult, AttackVerdict};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::xml::xml;
use crate::{Styles, inert, inert_json};

/// The column in which the words of an attack begin.
const INDENT: usize = 10;

/// For people: each attack with its verdict, what it tries, and what came of it.
pub fn text(report: &AttackReport, styles: &Styles) -> String {
    let mut text = String::new();
    for attack in &report.attacks {
        let (word, style) = word(attack.verdict, styles);
        let subject = styles.subject;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{style}{word}{style:#}{:gap$}{subject}{}{subject:#}: {}",
            "",
            attack.name,
            attack.tries,
            gap = INDENT.saturating_sub(word.len()),
        );
        let _ = writeln!(text, "{:INDENT$}{}", "", inert(&attack.reason).replace('\n', "\\n"));
    }
    let AttackReport { held, broken, untried, sandbox, .. } = report;
    let _ = writeln!(
        text,
        "{} attacks under {sandbox}: {held} held, {broken} broken, {untried} could not be tried",
        report.attacks.len(),
    );
    text
}

fn word(verdict: AttackVerdict, styles: &Styles) -> (&'static str, Style) {
    match verdict {
        AttackVerdict::Held => ("held", styles.passed),
        AttackVerdict::Broken => ("broken", styles.failed),
        AttackVerdict::Untried => ("untried", styles.skipped),
    }
}

/// The report as JSON with a final line feed.
pub fn json(report: &AttackReport) -> String {
    // Fails for keys that are no strings; reports have none.
    let text = serde_json::to_string_pretty(report).expect("a report is always JSON");
    format!("{}\n", inert_json(&text))
}

/// The JSON Schema of [`json`].
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<AttackReport>();
    schema.insert("title".to_owned(), "Attacks".into());
    schema.to_value()
}

/// For build servers: a test for each attack. One that got through is a `failure`, one that could not
/// be tried is `skipped`.
pub fn junit(report: &AttackReport) -> String {
    let AttackReport { broken, untried, .. } = report;
    let suite = format!("attack {}", report.sandbox);
    let counts = format!(
        "tests=\"{}\" failures=\"{broken}\" errors=\"0\" skipped=\"{untried}\"",
        report.attacks.len()
    );
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "<testsuites name=\"attack\" {counts}>");
    let _ = writeln!(text, "  <testsuite name=\"{}\" {counts}>", xml(&suite));
    for attack in &report.attacks {
        case(attack, &suite, &mut text);
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn case(attack: &AttackResult, suite: &str, text: &mut String) {
    let element = match attack.verdict {
        AttackVerdict::Held => None,
        AttackVerdict::Broken => Some("failure"),
        AttackVerdict::Untried => Some("skipped"),
    };
    let (name, suite) = (xml(&attack.name), xml(suite));
    // Writing to a string cannot fail.
    let _ = write!(text, "    <testcase name=\"{name}\" classname=\"{suite}\"");
    let _ = match element {
        None => writeln!(text, "/>"),
        Some(element) => {
            let reason = xml(&attack.reason);
            writeln!(text, ">\n      <{element} message=\"{reason}\"/>\n    </testcase>")
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> AttackReport {
        let one = |name: &str, verdict, reason: &str| AttackResult {
            name: name.to_owned(),
            tries: "does what it should not".to_owned(),
            verdict,
            reason: reason.to_owned(),
            checks: Vec::new(),
        };
        let attacks = vec![
            one("first", AttackVerdict::Held, "a wall"),
            one("second", AttackVerdict::Broken, "`seen` failed: \x1b[2J<oh>"),
            one("third", AttackVerdict::Untried, "python3 is not there"),
        ];
        AttackReport::new("bubblewrap", None, attacks)
    }

    #[test]
    fn people_read_it() {
        insta::assert_snapshot!(text(&report(), &Styles::plain()), @r"
        held      first: does what it should not
                  a wall
        broken    second: does what it should not
                  `seen` failed: \u{1b}[2J<oh>
        untried   third: does what it should not
                  python3 is not there
        3 attacks under bubblewrap: 1 held, 1 broken, 1 could not be tried
        ");
    }

    #[test]
    fn build_servers_read_it() {
        insta::assert_snapshot!(junit(&report()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="attack" tests="3" failures="1" errors="0" skipped="1">
          <testsuite name="attack bubblewrap" tests="3" failures="1" errors="0" skipped="1">
            <testcase name="first" classname="attack bubblewrap"/>
            <testcase name="second" classname="attack bubblewrap">
              <failure message="`seen` failed: \u{1b}[2J&lt;oh&gt;"/>
            </testcase>
            <testcase name="third" classname="attack bubblewrap">
              <skipped message="python3 is not there"/>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }
}
