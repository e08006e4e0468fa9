//! JUnit XML, in the form that build servers agree on. No times and no hosts.
//!
//! The format knows no missing evidence; `unknown` is an `<error>` of its own type, because
//! `<skipped>` would let a build go green on it.

use std::fmt::Write as _;

use proctor_model::recorded::report::{Reason, RunReport, Summary, Verdict};
use proctor_model::recorded::run::{Category, Kind};

use super::outcome::{Outcome, failures_and_errors};
use super::words;
use crate::xml::xml;

pub(super) fn head(summary: &Summary) -> String {
    let tests = summary.counts.total();
    let (failures, errors) = failures_and_errors(summary);
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"proctor score\" {counts}>\n\
         \x20 <testsuite name=\"recorded runs\" {counts} skipped=\"0\">\n"
    )
}

pub(super) fn foot() -> String {
    "  </testsuite>\n</testsuites>\n".to_owned()
}

pub(super) fn run(report: &RunReport<'_>, out: &mut Vec<u8>) {
    let fixture = report.fixture.unwrap_or_default();
    let category = fixture.category.map_or("unreadable", Category::as_str);
    let kind = fixture.kind.map_or("unreadable", Kind::as_str);
    let name = match (fixture.id, report.path.as_deref()) {
        (Some(id), Some(path)) => format!("{path}: {id}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "run".to_owned(),
    };
    let mut text = format!("    <testcase classname=\"{category}.{kind}\" name=\"{}\"", xml(&name));
    let outcome = Outcome::of(report);
    let (element, kind, message) = match outcome {
        Outcome::Good => {
            text.push_str("/>\n");
            out.extend_from_slice(text.as_bytes());
            return;
        }
        Outcome::NotAsIntended(intended) => {
            let intended = intended.map_or("unreadable", Verdict::as_str);
            let message = format!("intended {intended}, scored {}", report.verdict);
            ("failure", "not_as_intended", message)
        }
        Outcome::Scored(Verdict::Fail | Verdict::Pass) => ("failure", "fail", reasons(report)),
        Outcome::Scored(Verdict::Unknown) => ("error", "unknown", reasons(report)),
        Outcome::Scored(Verdict::Error) => ("error", "contract_violation", reasons(report)),
    };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        ">\n      <{element} type=\"{kind}\" message=\"{}\">{}</{element}>\n    </testcase>\n",
        xml(&message),
        // Only in attributes does a line feed need an escape.
        xml(&details(report)).replace("&#10;", "\n"),
    );
    out.extend_from_slice(text.as_bytes());
}

fn reasons(report: &RunReport<'_>) -> String {
    let of_checks = report
        .checks
        .iter()
        .filter_map(|check| Some(format!("{}: {}", check.check, check.reason?)));
    let of_run = report.reason.map(Reason::as_str).map(str::to_owned);
    of_run.into_iter().chain(of_checks).collect::<Vec<_>>().join(", ")
}

fn details(report: &RunReport<'_>) -> String {
    let reason = words::run_reason(report).map(str::to_owned);
    let violations =
        report.violations.iter().map(|violation| words::line_of(&violation.to_string()));
    let checks = report.checks.iter().filter(|check| check.reason.is_some()).flat_map(|check| {
        words::finding(check).into_iter().map(move |line| format!("{}: {line}", check.check))
    });
    let notes = report.notes.iter().map(|note| format!("note: {}", words::explained(note)));
    reason.into_iter().chain(violations).chain(checks).chain(notes).collect::<Vec<_>>().join("\n")
}
