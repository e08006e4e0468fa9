//! The report of a run as JUnit XML: no times and no hosts, and byte for byte what ai-rulez
//! writes, down to the escapes and the closing tags of empty elements.

use std::fmt::Write as _;

use proctor_model::eval::{CaseReport, CaseStatus, EvalReport, SkillReport, SkillStatus};

use super::words;
use crate::inert;

/// The report of a run for build servers: a suite for each skill, a test for each case.
pub fn run_junit(report: &EvalReport) -> String {
    let listed = report.skills.iter().filter(|skill| words::is_listed(skill));
    let suites: Vec<Suite<'_>> = listed.map(Suite::of).collect();
    let total = suites.iter().fold(Counts::default(), |total, suite| total.and(suite.counts()));
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = write!(text, "<testsuites name=\"ai-rulez eval\" {total}>");
    for suite in &suites {
        suite.write(&mut text);
    }
    text.push_str(if suites.is_empty() { "</testsuites>\n" } else { "\n</testsuites>\n" });
    text
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn and(self, other: Self) -> Self {
        Self {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tests, failures, errors, skipped } = self;
        write!(
            f,
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\""
        )
    }
}

/// What a test came to. Both texts of a failure and of an error are shown.
enum Outcome {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

struct Suite<'a> {
    skill: &'a SkillReport,
    tests: Vec<(String, Outcome)>,
}

impl<'a> Suite<'a> {
    fn of(skill: &'a SkillReport) -> Self {
        let run = |outcome| vec![("run".to_owned(), outcome)];
        let tests = match skill.status {
            SkillStatus::Invalid => {
                let problem = |problem: &proctor_model::eval::Problem| {
                    let name = format!("case-file {}", problem.file);
                    (name, Outcome::Error(format!("line {}: {}", problem.line, problem.message)))
                };
                skill.problems.iter().map(problem).collect()
            }
            SkillStatus::Error | SkillStatus::SkippedOverBudget => {
                run(Outcome::Error(words::not_run(skill).unwrap_or_default()))
            }
            SkillStatus::DryRun => run(Outcome::Skipped("dry run".to_owned())),
            SkillStatus::Cached if skill.passing => {
                run(Outcome::Skipped("cached: a stored result that passes holds".to_owned()))
            }
            SkillStatus::Cached => {
                let rate = skill.score.map_or(0.0, |score| score.pass_rate);
                let message = format!("stored pass rate {rate:.4} is below the threshold");
                vec![("pass rate".to_owned(), Outcome::Failed(message))]
            }
            SkillStatus::Ran => cases(skill),
            SkillStatus::NoCases | SkillStatus::SkippedUnchanged => Vec::new(),
        };
        Self { skill, tests }
    }

    fn counts(&self) -> Counts {
        let count =
            |wanted: fn(&Outcome) -> bool| self.tests.iter().filter(|(_, o)| wanted(o)).count();
        Counts {
            tests: self.tests.len(),
            failures: count(|outcome| matches!(outcome, Outcome::Failed(_))),
            errors: count(|outcome| matches!(outcome, Outcome::Error(_))),
            skipped: count(|outcome| matches!(outcome, Outcome::Skipped(_))),
        }
    }

    fn write(&self, text: &mut String) {
        let id = xml(&self.skill.id);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  <testsuite name=\"{id}\" {}>", self.counts());
        text.push_str("\n    <properties>");
        for (name, value) in properties(self.skill) {
            let _ = write!(text, "\n      <property name=\"{name}\" value=\"{value}\"></property>");
        }
        text.push_str("\n    </properties>");
        for (name, outcome) in &self.tests {
            let name = xml(name);
            let _ = write!(text, "\n    <testcase name=\"{name}\" classname=\"skill.{id}\">");
            let (element, message) = match outcome {
                Outcome::Passed => {
                    text.push_str("</testcase>");
                    continue;
                }
                Outcome::Failed(message) => ("failure", message),
                Outcome::Error(message) => ("error", message),
                Outcome::Skipped(message) => ("skipped", message),
            };
            let message = xml(message);
            let body = if element == "skipped" { "" } else { message.as_str() };
            let _ = write!(
                text,
                "\n      <{element} message=\"{message}\">{body}</{element}>\n    </testcase>"
            );
        }
        text.push_str("\n  </testsuite>");
    }
}

fn cases(skill: &SkillReport) -> Vec<(String, Outcome)> {
    let outcome = |case: &CaseReport| match case.status {
        CaseStatus::Passed => Outcome::Passed,
        CaseStatus::Failed => Outcome::Failed(words::why(case)),
        CaseStatus::Error => Outcome::Error(words::why(case)),
        CaseStatus::Skipped => Outcome::Skipped(words::why(case)),
    };
    let mut tests: Vec<(String, Outcome)> =
        skill.cases.iter().map(|case| (case.case.clone(), outcome(case))).collect();
    // A skill that fails must not look green.
    if skill.failed() && !skill.cases.iter().any(words::is_wrong) {
        tests.push(("run".to_owned(), Outcome::Error("nothing was scored".to_owned())));
    }
    tests
}

fn properties(skill: &SkillReport) -> Vec<(&'static str, String)> {
    let mut properties = vec![("status", skill.status.to_string())];
    if let Some(score) = &skill.score {
        let rate = |rate: Option<f64>| rate.map(|rate| format!("{rate:.4}")).unwrap_or_default();
        properties.extend([
            ("pass_rate", format!("{:.4}", score.pass_rate)),
            ("trigger_precision", rate(score.trigger_precision)),
            ("trigger_recall", rate(score.trigger_recall)),
            ("ablation_delta", rate(score.ablation_delta)),
            ("skill_tokens", score.skill_tokens.to_string()),
            ("cost_usd", format!("{:.4}", score.cost_usd)),
        ]);
    }
    properties
}

/// Text that may stand in XML, in an element or an attribute, with the escapes of Go. What XML 1.0
/// has no way to write is among what [`inert`] replaces, but for the two non-characters at the end
/// of the first plane.
fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in inert(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&#34;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push_str("&#xA;"),
            '\t' => safe.push_str("&#x9;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
