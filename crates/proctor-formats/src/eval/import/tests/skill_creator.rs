//! Suites of skill-creator.

use std::path::Path;

use super::{import_as, shown};
use crate::eval::import::*;

fn skill_creator(files: &[(&str, &str)], named: &str) -> Result<Imported, ImportError> {
    import_as("skill-creator", files, named, Options::default())
}

const EVALS: &str = r#"{
  "skill_name": "sheets",
  "evals": [
    {
      "id": 1,
      "prompt": "Sum the column in the file.\nSay the sum.",
      "expected_output": "The sum of the column",
      "files": ["evals/files/a.csv"],
      "expectations": ["The output contains \"42\"", {"text": "It names the column", "kind": "x"}]
    },
    {"id": "two", "prompt": "Make a chart", "expected_output": "A chart", "files": [],
     "assertions": [], "name": "chart", "notes": "none"},
    {"prompt": "What is the capital of France?", "should_trigger": false}
  ],
  "version": 2
}"#;

#[test]
fn evals_become_the_cases_of_one_file() {
    let files = [("evals/evals.json", EVALS), ("evals/files/a.csv", "1\n41\n")];
    let imported = skill_creator(&files, "").unwrap();
    insta::assert_snapshot!(shown(&imported));
    assert_eq!(imported.files[1].path, "fixtures/sheets-1/evals/files/a.csv");
    for named in ["evals", "evals/evals.json"] {
        assert_eq!(skill_creator(&files, named).unwrap(), imported);
    }
}

#[test]
fn lists_of_queries_become_trigger_only_cases() {
    let queries = r#"[
      {"query": "Sum this", "should_trigger": true},
      {"query": "Sing this", "should_trigger": false, "expected_skill": "music"}
    ]"#;
    let imported = skill_creator(&[("triggers.json", queries)], "triggers.json").unwrap();
    insta::assert_snapshot!(shown(&imported));
}

#[test]
fn a_folder_of_skills_is_read() {
    let evals = r#"{"evals": [{"prompt": "p", "expectations": ["e"]}]}"#;
    let files = [("b/evals/evals.json", evals), ("a/evals.json", evals), ("c/SKILL.md", "")];
    let imported = skill_creator(&files, "").unwrap();
    let names: Vec<&str> =
        imported.report.scenarios.iter().map(|scenario| scenario.scenario.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn broken_suites_are_refused() {
    for (text, expected) in [
        ("5", "must hold an object with `evals`"),
        (r#"{"evals": 5}"#, "`evals` must be a list"),
        (r#"{"evals": []}"#, "holds 0 evals"),
        (r#"{"evals": [5]}"#, "$.evals[0] must be an object"),
        (r#"{"evals": [{"id": 1}]}"#, "$.evals[0] has no prompt"),
        (r#"{"evals": [{"prompt": " "}]}"#, "makes no valid case"),
        (r#"{"evals": [{"prompt": "p", "expectations": [1]}]}"#, "has no text"),
        (r#"{"evals": [{"prompt": "p", "files": ["../x"]}]}"#, "must stay inside"),
        (r#"{"evals": [{"prompt": "p", "files": ["x"]}]}"#, "x: cannot be read"),
    ] {
        let error = skill_creator(&[("evals.json", text)], "").unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// Suites that people wrote.
#[test]
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
fn real_suites_map_without_rest() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/conformance/skill-evals-2026-08-22");
    let Ok(listing) = std::fs::read_dir(&data) else {
        eprintln!("skipped: the suites are not here");
        return;
    };
    let mut count = 0;
    for entry in listing {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let imported = skill_creator(&[("evals.json", &text)], "").unwrap();
        assert!(imported.report.findings.is_empty(), "{}", imported.report.text());
        count += imported.report.scenarios[0].cases;
    }
    assert_eq!(count, 27);
}

#[test]
fn a_short_suite_cannot_name_a_long_file_without_end() {
    let files = vec!["\"a\""; 100].join(",");
    let text = format!(r#"{{"evals": [{{"prompt": "p", "files": [{files}]}}]}}"#);
    let long = "x".repeat(1024 * 1024);
    let error = skill_creator(&[("evals.json", &text), ("a", &long)], "").unwrap_err().to_string();
    assert!(error.contains("64 MiB"), "{error}");
}
