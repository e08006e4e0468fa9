//! A comparison as JUnit XML.

use std::fmt::Write as _;

use proctor_model::measure::{CompareVerdict, ComparisonReport};

use crate::xml::xml;

/// For build servers: a test for each contrast, which fails when the candidate is worse or not shown to
/// be as good, and is an error when there was too little to compare.
pub fn comparison_junit(report: &ComparisonReport) -> String {
    let of = |element: &str| {
        report.contrasts.iter().filter(|one| wrong(one.verdict) == Some(element)).count()
    };
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"",
        report.contrasts.len(),
        of("failure"),
        of("error")
    );
    let name = xml(&format!("{} -> {}", report.baseline, report.candidate));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"proctor compare\" {counts}>\n  \
         <testsuite name=\"{name}\" {counts}>\n"
    );
    for one in &report.contrasts {
        let case = match &report.by {
            Some(key) => xml(&format!("{key}: {} -> {}", one.baseline, one.candidate)),
            None => xml(&one.name),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "    <testcase name=\"{case}\" classname=\"{name}\"");
        let _ = match wrong(one.verdict) {
            None => writeln!(text, "/>"),
            Some(element) => {
                let message = xml(&format!("{}: {}", one.verdict, report.conclusion));
                writeln!(text, ">\n      <{element} message=\"{message}\"/>\n    </testcase>")
            }
        };
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn wrong(verdict: CompareVerdict) -> Option<&'static str> {
    match verdict {
        CompareVerdict::Incomplete => Some("error"),
        verdict if verdict.holds() => None,
        _ => Some("failure"),
    }
}
