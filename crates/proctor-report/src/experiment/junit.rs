//! A run as JUnit XML: no times and no hosts.

use std::fmt::Write as _;

use proctor_model::run::{
    GradedCheck, GradedStatus, RunReport, TestRecord, TestStatus, TrialRecord, TrialStatus,
};

use super::run::{because, not_started, said, trial_name};
use crate::xml::xml;

/// For build servers: a suite for each trial, a test for each of its tests and checks. A test that failed is a
/// `failure`; what says nothing about the agent is an `error`.
pub fn run_junit(report: &RunReport) -> String {
    let mut suites: Vec<(String, Vec<Case>)> =
        report.trials.iter().map(|trial| (trial_name(trial), cases(trial))).collect();
    suites.extend(not_started(report).map(|(name, why)| {
        (name, vec![Case::new("trial", "error", format!("not started: {why}"))])
    }));
    let missing = report.planned.saturating_sub(report.finished);
    if missing > not_started(report).count() as u64 {
        let why = format!("{missing} of {} trials are not finished", report.planned);
        suites.push(("trials".to_owned(), vec![Case::new("finished", "error", why)]));
    }
    let all = suites.iter().flat_map(|(_, cases)| cases);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "<testsuites name=\"{}\" {}>", xml(&report.experiment_id), counts(all));
    for (name, cases) in &suites {
        let name = xml(name);
        let _ = writeln!(text, "  <testsuite name=\"{name}\" {}>", counts(cases.iter()));
        for case in cases {
            case.write(&name, &mut text);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

struct Case {
    name: String,
    /// The element and its message; `None` when it passed.
    wrong: Option<(&'static str, String)>,
}

impl Case {
    fn new(name: &str, element: &'static str, message: String) -> Self {
        Self { name: name.to_owned(), wrong: Some((element, message)) }
    }

    fn of(test: &TestRecord) -> Self {
        let element = match test.status {
            TestStatus::Passed => return Self { name: test.name.clone(), wrong: None },
            TestStatus::Failed => "failure",
            TestStatus::EvidenceError | TestStatus::Error => "error",
            TestStatus::Skipped => "skipped",
        };
        Self::new(&test.name, element, said(test))
    }

    fn of_check(check: &GradedCheck) -> Self {
        let element = match check.status {
            GradedStatus::Passed => return Self { name: check.name.clone(), wrong: None },
            GradedStatus::Skipped => "skipped",
            // It decides nothing, so a build must not fail for it.
            _ if check.optional => "skipped",
            GradedStatus::Failed => "failure",
            GradedStatus::Error | GradedStatus::Unknown => "error",
        };
        Self::new(&check.name, element, because(check))
    }

    fn write(&self, suite: &str, text: &mut String) {
        let name = xml(&self.name);
        // Writing to a string cannot fail.
        let _ = write!(text, "    <testcase name=\"{name}\" classname=\"{suite}\"");
        let _ = match &self.wrong {
            None => writeln!(text, "/>"),
            Some((element, message)) => {
                let message = xml(message);
                writeln!(text, ">\n      <{element} message=\"{message}\"/>\n    </testcase>")
            }
        };
    }
}

/// The tests and checks of a trial, and the agent where it is why there is no result.
fn cases(trial: &TrialRecord) -> Vec<Case> {
    let mut cases = Vec::new();
    if trial.status == TrialStatus::Error {
        let reason = trial.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        cases.push(Case::new("trial", "error", format!("{}{reason}", trial.exit_reason)));
    }
    cases.extend(trial.tests.iter().map(Case::of));
    cases.extend(trial.graded.iter().map(Case::of_check));
    // An agent that failed although nothing that was graded says so.
    let is_told = cases.iter().any(|case| matches!(case.wrong, Some(("failure" | "error", _))));
    if trial.status == TrialStatus::Fail && !is_told {
        let reason = trial.reason.clone().unwrap_or_else(|| trial.exit_reason.to_string());
        cases.push(Case::new("trial", "failure", reason));
    }
    cases
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.wrong {
            Some(("failure", _)) => failures += 1,
            Some(("error", _)) => errors += 1,
            Some(_) => skipped += 1,
            None => {}
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}
