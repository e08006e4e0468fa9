//! Whether runs are what they were.

use std::fmt::Write as _;

use proctor_model::run::{Problem, VerifiedRun, VerifyReport};
use serde_json::Value;

use super::{json, schema};
use crate::{Styles, inert};

/// For people: what is wrong, a line each, and then a line for each run.
pub fn verify_text(report: &VerifyReport, styles: &Styles) -> String {
    let mut text = String::new();
    for run in &report.runs {
        for problem in &run.problems {
            write_problem(problem, styles, &mut text);
        }
        for trial in &run.unfinished {
            line(&mut text, &format!("unfinished  {trial}"));
        }
        for note in &run.notes {
            line(&mut text, &format!("note  {note}"));
        }
        write_run(run, styles, &mut text);
    }
    text
}

fn line(text: &mut String, words: &str) {
    text.push_str(&inert(&words.replace('\n', "\\n")));
    text.push('\n');
}

fn write_problem(problem: &Problem, styles: &Styles, text: &mut String) {
    let style = styles.failed;
    let place = match &problem.trial {
        Some(trial) => format!("{trial}: {}", problem.file),
        None => problem.file.clone(),
    };
    let field = problem.field.as_ref().map(|field| format!(", {field}")).unwrap_or_default();
    let values = match (&problem.kept, &problem.found) {
        (Some(kept), Some(found)) => format!(": `{kept}`, found `{found}`"),
        (None, Some(found)) => format!(": {found}"),
        (Some(kept), None) => format!(": `{kept}`"),
        (None, None) => String::new(),
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "{style}wrong{style:#}  ");
    line(text, &format!("{place}{field} {}{values}", problem.problem.as_str()));
}

fn write_run(run: &VerifiedRun, styles: &Styles, text: &mut String) {
    let (style, word) = match run.problems.len() {
        0 => (styles.passed, "holds".to_owned()),
        1 => (styles.failed, "1 problem".to_owned()),
        count => (styles.failed, format!("{count} problems")),
    };
    let unfinished = match run.unfinished.len() {
        0 => String::new(),
        count => format!(", {count} not finished"),
    };
    let trials = if run.verified == 1 { "trial" } else { "trials" };
    let _ = writeln!(
        text,
        "{}: {style}{word}{style:#}, {} {trials} looked at{unfinished}",
        inert(&run.run_id),
        run.verified
    );
}

/// For programs.
pub fn verify_json(report: &VerifyReport) -> String {
    json(report)
}

/// The shape of [`verify_json`].
pub fn verify_schema() -> Value {
    schema::<VerifyReport>("proctor run verify --format json")
}

#[cfg(test)]
mod tests {
    use proctor_model::run::{ProblemKind, RunKind, VERIFY_REPORT_VERSION};

    use super::*;

    #[test]
    fn what_is_wrong_names_file_and_field() {
        let run = VerifiedRun {
            run_id: "x-1".to_owned(),
            kind: Some(RunKind::Experiment),
            verified: 1,
            unfinished: vec!["a::p::2".to_owned()],
            problems: vec![
                Problem {
                    field: Some("line 3".to_owned()),
                    ..Problem::of_file("index.jsonl", ProblemKind::BrokenChain)
                },
                Problem {
                    trial: Some("a::p::1".to_owned()),
                    ..Problem::differs("run.json", "status", &"pass", &"fail\u{1b}\n")
                },
                Problem::of_file("agent.log", ProblemKind::Added),
            ],
            notes: vec!["it is being worked on".to_owned()],
        };
        let good = VerifiedRun {
            run_id: "x-0".to_owned(),
            problems: Vec::new(),
            unfinished: Vec::new(),
            notes: Vec::new(),
            verified: 2,
            ..run.clone()
        };
        let report = VerifyReport { schema_version: VERIFY_REPORT_VERSION, runs: vec![run, good] };
        insta::assert_snapshot!(verify_text(&report, &Styles::plain()), @r"
        wrong  index.jsonl, line 3 does not follow the line before it
        wrong  a::p::1: run.json, status does not follow from the evidence: `pass`, found `fail\u{1b}\n`
        wrong  agent.log was added
        unfinished  a::p::2
        note  it is being worked on
        x-1: 3 problems, 1 trial looked at, 1 not finished
        x-0: holds, 2 trials looked at
        ");
        let value: Value = serde_json::from_str(&verify_json(&report)).unwrap();
        assert_eq!(value["runs"][0]["problems"][0]["problem"], "broken_chain");
    }
}
